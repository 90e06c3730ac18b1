"""What is prescribed: from which checkpoint, without which batches, with which values; and when nothing is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.runs import run as made

from sismo.incident.checkpoints import last_healthy
from sismo.incident.prescribe import prescribe
from sismo.incident.settings import follows
from sismo.incident.types import Prescription
from sismo.judge import judge
from sismo.records.types import Event, Header, Run, Series

RNG = np.random.default_rng(0)
LOSS = 3.0 - 0.002 * np.arange(400) + 0.02 * RNG.standard_normal(400)


def spiked(**more: Any) -> Run:
    """A spike at step 250 that does not heal, in training and validation, with the gradient norm of that step."""
    loss, norm = LOSS.copy(), 1.0 + 0.05 * RNG.standard_normal(400)
    loss[250:] += 3.0
    norm[250] = 40.0
    val = {step: float(loss[step]) + 0.05 for step in range(9, 400, 10)}
    return made(loss=loss, norm=norm, val=val, lr=np.full(400, 1e-3), **more)


def of(run: Run) -> Prescription:
    return prescribe(run, judge(run))


def events(*steps: int) -> tuple[Event, ...]:
    return tuple(Event(step, "checkpoint") for step in steps)


def test_the_last_checkpoint_that_healthy_steps_followed() -> None:
    asked = of(spiked(events=events(99, 199, 249, 299)))
    assert asked.cause == "optimizer-state-corrupted"
    assert asked.start is not None
    assert asked.start.step == 199
    assert asked.skip is not None
    assert (asked.skip.first, asked.skip.last) == (250, 250)


def test_trouble_after_a_checkpoint_disqualifies_it() -> None:
    run = made(loss=LOSS, events=(*events(99, 199), Event(205, "overflow")))
    found = last_healthy(run, 250, 20)
    assert found is not None
    assert found.step == 99


def test_a_checkpoint_that_was_deleted_is_passed_over(tmp_path: Path) -> None:
    kept = tmp_path / "checkpoints" / "step-99.pt"
    kept.parent.mkdir()
    kept.touch()
    there = Event(99, "checkpoint", {"path": "elsewhere/checkpoints/step-99.pt"})
    gone = Event(199, "checkpoint", {"path": "elsewhere/checkpoints/step-199.pt"})
    run = Run(str(tmp_path), Header("sismo-run"), {}, (there, gone))
    assert last_healthy(run, 250, 20) == (99, str(kept))


def test_a_log_that_says_how_often_one_is_written_gives_the_step() -> None:
    run = Run("x", Header("hf-trainer-state", checkpoint_every=100), {})
    found = last_healthy(run, 250, 20)
    assert found == (200, "")


def test_without_one_it_says_before_which_step_it_must_be() -> None:
    asked = of(spiked())
    assert asked.start is not None
    assert asked.start.step is None
    assert "before step 230" in str(asked.start.said)


def test_batches_are_named_where_they_were_recorded() -> None:
    run = spiked(events=(Event(250, "batch", {"ids": ["a-1", "a-2"]}),))
    prints = Series("batch/fingerprint", np.array([249, 250]), np.array([1.0, 255.0]))
    asked = of(Run(run.path, run.header, {**run.series, "batch/fingerprint": prints}, run.events))
    assert asked.skip is not None
    assert list(asked.skip.ids) == ["a-1", "a-2"]
    assert list(asked.skip.fingerprints) == ["0000000000ff"]


def test_a_sparse_log_skips_all_steps_since_the_row_before() -> None:
    dense = spiked()
    rows = {name: Series(name, series.steps * 10, series.values) for name, series in dense.series.items()}
    asked = of(Run("sparse", dense.header, rows))
    assert asked.skip is not None
    assert (asked.skip.first, asked.skip.last) == (2491, 2500)


def test_nothing_for_a_healthy_run_nor_without_a_verdict() -> None:
    for run in (made(loss=LOSS), made(loss=LOSS[:3])):
        asked = of(run)
        assert asked.kind == "none"
        assert asked.refused is not None
        assert (asked.changes, asked.start, asked.code) == ((), None, "")


def test_nothing_while_it_is_undecided() -> None:
    loss = LOSS.copy()
    loss[300:] = np.nan
    asked = of(made(loss=loss))
    assert asked.refused is not None
    assert "not decided" in str(asked.refused.what) or "only possible" in str(asked.refused.what)


@pytest.mark.parametrize(
    ("rule", "operands", "old", "planned", "new"),
    [
        ("times", (0.5,), 3e-4, None, 1.5e-4),
        ("times", (0.5,), None, None, None),
        ("set", (True,), False, None, True),
        ("set", (True,), True, None, None),
        ("lower", (1.0, 0.5), None, None, 1.0),
        ("lower", (1.0, 0.5), 1.0, None, 0.5),
        ("lower", (1.0, 0.5), 0.1, None, None),
        ("raise", (16,), 4, None, 16),
        ("raise", (16,), 32, None, None),
        ("share", (0.01, 100), 0, 50_000, 500),
        ("share", (0.01, 100), 0, None, 100),
        ("share", (0.01, 100), 100, 1_000, None),
    ],
)
def test_how_a_new_value_follows(rule: str, operands: tuple[Any, ...], old: Any, planned: int | None, new: Any) -> None:
    assert follows(rule, operands, old, planned) == new


def lost_to_a_batch(at: int, *more: Event) -> Run:
    """A batch that holds NaN, as the recorder saw it, and a loss that is lost with it."""
    loss = np.where(np.arange(400) < at, LOSS, np.nan)
    seen = {"batch/nonfinite": (np.arange(400) == at).astype(float), "batch/fingerprint": np.arange(400.0)}
    return made(loss=loss, norm=np.where(np.arange(400) < at, 1.0, np.nan), dtype="fp32", more=seen, events=more)


def test_one_bad_batch_costs_the_steps_since_the_checkpoint_before_it_and_not_the_run() -> None:
    asked = of(lost_to_a_batch(300, *events(199, 249, 299)))
    assert asked.cause == "nonfinite-input"
    assert asked.start is not None
    assert asked.start.step == 249
    assert asked.skip is not None
    assert (asked.skip.first, asked.skip.last, list(asked.skip.fingerprints)) == (300, 300, [f"{300:012x}"])


def test_what_is_bad_from_the_first_row_on_is_begun_again_and_no_batch_is_left_out() -> None:
    asked = of(lost_to_a_batch(0, *events(199)))
    assert asked.cause == "nonfinite-input"
    assert asked.start is not None
    assert "from step 0" in str(asked.start.said)
    assert asked.skip is None


def test_a_batch_that_is_left_out_is_verified_by_the_next_verdict() -> None:
    """The probe would be given the same bad batch once more, and finds it in whatever code."""
    from sismo.dashboard.registry import panel_of
    from sismo.incident.investigate import investigate
    from sismo.signals.presets import preset

    found = investigate(lost_to_a_batch(300, *events(249)), preset("robust"), panel_of)
    assert str(found.verification.check) == "sismo diagnose NEW_RUN does not name nonfinite-input."


def exploding(clip: float, **header: Any) -> Run:
    """A norm that grows until the loss is lost, clipped at a bound that nobody wrote down."""
    growth = np.ones(400)
    growth[200:260] = 1.1 ** np.arange(60)
    pre = (1.0 + 0.05 * RNG.standard_normal(400)) * growth
    loss = LOSS + np.where(growth > 1, 0.2 * growth, 0.0)
    pre[260:] = loss[260:] = np.nan
    return made(loss=loss, norm=pre, lr=np.full(400, 1e-3), more={"grad_norm/post": np.minimum(pre, clip)}, dtype="fp32", **header)


_ENOUGH = "it is not a clip that is missing."


@pytest.mark.parametrize(("clip", "said"), [(2.0, "tighten that to 1."), (1.0, "tighten that to 0.5."), (0.5, _ENOUGH), (0.25, _ENOUGH)])
def test_a_clip_in_force_that_no_configuration_names_is_named_and_not_advised_again(clip: float, said: str) -> None:
    run = exploding(clip)
    asked = of(run)
    assert asked.cause == "exploding-gradients"
    assert f"clipped at {clip:g} already" in str(asked.action)
    assert str(asked.action).endswith(said)
    changed = {change.setting: (change.old, change.new) for change in asked.changes}
    assert changed.get("clip") == {2.0: (2.0, 1.0), 1.0: (1.0, 0.5)}.get(clip)
    assert changed["lr"] == (1e-3, 5e-4)


def test_diagnose_and_fix_advise_the_same_of_a_clip_in_force() -> None:
    from sismo.dashboard.registry import panel_of
    from sismo.incident.investigate import investigate
    from sismo.signals.presets import preset

    found = investigate(exploding(0.5), preset("robust"), panel_of)
    assert str(found.document.causes[0].first_action) == str(found.prescription.action)
    assert any(str(one.name) == "Clipped at" and str(one.value) == "0.5" for one in found.symptoms)


def test_without_a_clip_in_force_the_advice_is_to_clip() -> None:
    asked = of(exploding(1e9))
    assert "already:" not in str(asked.action)
    assert {change.setting: (change.old, change.new) for change in asked.changes}["clip"] == (None, 1.0)


def corrupted(folder: Path | None = None) -> tuple[Run, Prescription]:
    """Targets that are wrong from step 250 on, which the batch probe would settle; in a run folder where one is given."""
    from sismo.tree.catalogue import causes
    from sismo.tree.types import Diagnosis, Finding, Severity

    run = spiked()
    run = Run(str(folder), run.header._replace(source="sismo-run"), run.series) if folder else run
    finding = Finding(causes()["labels-corrupted"], Severity.BROKEN, 250, 0.9, (), (), (), ())
    return run, prescribe(run, Diagnosis((finding,), (), False, True))


def test_a_check_of_a_batch_that_was_not_kept_says_how_to_get_it_and_what_to_look_at_without(tmp_path: Path) -> None:
    for _, asked in (corrupted(), corrupted(tmp_path)):
        assert asked.probe.endswith("--step 250 --batch BATCH.pt")
        assert asked.needs is not None
        assert "rec.batches(loader)" in str(asked.needs)
        assert "The validation loss on old data" in str(asked.needs)


def test_a_batch_that_was_kept_is_asked_for_by_its_step(tmp_path: Path) -> None:
    (tmp_path / "batches").mkdir()
    (tmp_path / "batches" / "step-000000250.pt").touch()
    _, asked = corrupted(tmp_path)
    assert asked.probe == f"sismo probe batch --entry YOUR.MODULE:build --run {tmp_path} --step 250"
    assert asked.needs is None


def test_both_the_recipe_and_the_post_mortem_say_what_a_check_needs() -> None:
    from sismo.dashboard.registry import panel_of
    from sismo.incident.investigate import investigate
    from sismo.report.fix import render
    from sismo.report.incident.sections import sections
    from sismo.report.language import language
    from sismo.report.page import Page
    from sismo.signals.presets import preset

    run, asked = corrupted()
    found = investigate(run, preset("robust"), panel_of)._replace(prescription=asked)
    assert "was not kept" in render(found, None, Page(language("en")))
    assert "was not kept" in str(sections(found, language("en")))
