"""From a run to a verdict: the whole way, and what the document says of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.runs import alarms, cosine, event, falling, level, names, run, with_at

import sismo
from sismo.judge import diagnose, judge
from sismo.postmortem import to_record
from sismo.signals.presets import preset

NAN = float("nan")
CALM, NORM, LR = falling(600), level(600, 1.0, 0.1), cosine(600)


def test_the_public_door_and_the_judge_say_the_same() -> None:
    made = run(loss=with_at(CALM, 300, NAN), norm=NORM, lr=LR)
    assert [cause.id for cause in sismo.diagnose(made).causes] == [finding.cause.id for finding in judge(made).findings]
    assert str(sismo.diagnose(made).verdict) == str(diagnose(made, preset("robust")).verdict)


def test_a_healthy_run_says_how_much_was_looked_at() -> None:
    document = sismo.diagnose(run(loss=CALM, norm=NORM, lr=LR))
    assert document.healthy is True
    assert document.severity == "none"
    assert "600 rows" in str(document.verdict)
    assert document.unknown, "what could not be looked at is listed even so"


@pytest.mark.parametrize("rows", [0, 1, 19])
def test_a_log_that_is_too_short_is_no_clean_bill(rows: int) -> None:
    document = sismo.diagnose(run(loss=CALM[:rows], lr=LR[:rows]))
    assert document.healthy is None
    assert "No verdict" in str(document.verdict)


def test_a_log_without_a_loss_is_no_clean_bill() -> None:
    document = sismo.diagnose(run(norm=NORM, lr=LR, val={100: 2.0, 200: 1.9, 300: 1.8}))
    assert document.healthy is None
    assert "0 rows" in str(document.verdict)


def test_a_broken_run_says_what_since_when_and_what_to_do() -> None:
    document = sismo.diagnose(
        run(loss=np.where(np.arange(600) < 300, CALM, NAN), norm=NORM * np.where(np.arange(600) < 290, 1.0, 40.0), lr=LR)
    )
    assert document.healthy is False
    assert document.severity == "broken"
    assert document.causes[0].id == "exploding-gradients"
    assert document.step == 290
    assert "from step 290" in str(document.verdict)
    first = document.causes[0]
    assert first.step == 290
    assert str(first.first_action)
    assert first.evidence


def test_unknown_questions_say_what_to_log() -> None:
    document = sismo.diagnose(run(loss=CALM))
    hows = {str(item.how) for item in document.unknown}
    assert any("clip_grad_norm_" in how for how in hows)
    for item in document.unknown:
        assert str(item.missing)
        assert str(item.how)


def test_the_order_of_channels_changes_nothing() -> None:
    made = run(loss=with_at(CALM, 300, 9.0, 8.0), norm=with_at(NORM, 300, 20.0), lr=LR, val={100: 2.4, 300: 2.2, 500: 2.1})
    turned = type(made)(made.path, made.header, dict(reversed(list(made.series.items()))), made.events, made.notes)
    assert names(made) == names(turned)


def test_steps_that_are_ten_times_as_large_move_the_verdict_with_them() -> None:
    stays = np.where(np.arange(600) < 300, CALM, CALM + 2.0)
    one, ten = run(loss=stays, norm=NORM, lr=LR), run(loss=stays, norm=NORM, lr=LR, every=10)
    assert names(one) == names(ten)
    assert sismo.diagnose(ten).step == 10 * (sismo.diagnose(one).step or 0)


@pytest.mark.parametrize("unit", ["step", "epoch"])
def test_the_verdict_speaks_in_the_unit_of_the_log(unit: str) -> None:
    document = sismo.diagnose(run(loss=CALM, lr=np.where(np.arange(600) < 300, 1e-3, 1e-2), step_unit=unit))
    assert f"{unit} 300" in str(document.verdict)


def test_a_pair_that_the_log_cannot_tell_apart_is_named_as_one() -> None:
    document = sismo.diagnose(run(loss=np.full(50, NAN), lr=np.full(50, 1e-3)))
    first = document.causes[0]
    assert document.healthy is False
    if first.twins:
        assert "Unknown between" in str(document.verdict)
        assert first.decider is not None
    else:
        assert first.id in str(document.verdict)


def test_a_cause_and_its_consequence_are_one_story() -> None:
    """An LR that jumps tenfold and a loss that stays up from there on: one cause, and what follows from it."""
    rate = np.where(np.arange(600) < 300, 1e-3, 1e-2)
    document = sismo.diagnose(run(loss=np.where(np.arange(600) < 303, CALM, CALM + 2.0), lr=rate, norm=NORM))
    assert document.causes[0].id == "lr-jump"
    own = [cause.id for cause in document.causes if not cause.consequence_of and cause.severity != "note"]
    assert own == ["lr-jump"]


def test_what_the_user_put_in_place_of_a_threshold_counts() -> None:
    made = run(loss=CALM, norm=NORM, lr=np.full(600, 5e-7))
    assert judge(made).findings != judge(made, preset("robust", {"min-rows": 10_000})).findings
    assert judge(made, preset("robust", {"min-rows": 10_000})).healthy is None


def test_events_alone_are_read_but_never_healthy() -> None:
    document = sismo.diagnose(run(events=[event(step, "overflow") for step in range(3)]))
    assert document.healthy is not True


def test_the_literal_preset_is_named_in_the_document() -> None:
    assert sismo.diagnose(run(loss=CALM), preset("literal")).preset == "literal"


@pytest.mark.parametrize("rise", [300, 600, 1200, 2400])
def test_a_rise_that_has_lasted_long_is_still_a_rise(rise: int) -> None:
    """What a run has done for long is not its nature: earlier stretches of the same rise must not excuse the last."""
    loss = np.concatenate([falling(300), 2.0 + np.arange(rise) / 400.0 + level(rise, 0.0)])
    rows = len(loss)
    assert alarms(run(loss=loss, lr=cosine(rows), norm=level(rows, 1.0, 0.1))) == ["silent-divergence"]


def test_a_run_that_died_of_something_else_is_not_called_healthy() -> None:
    """Out of memory is no instability, and no health either."""
    calm = run(loss=CALM, events=[event(len(CALM) - 1, "crash", line="RuntimeError: CUDA out of memory")])
    document = sismo.diagnose(calm)
    assert document.healthy is True
    assert str(document.verdict).endswith("but the run did not end by itself: “RuntimeError: CUDA out of memory”.")
    assert str(sismo.diagnose(run(loss=CALM)).verdict).startswith("Healthy")


def test_a_recorded_run_is_not_told_to_be_recorded() -> None:
    """What a panel measured in turns, what was off, and what is not in the model are told apart."""
    loss = with_at(falling(), 300, float("nan"))
    seen = {"act_max_abs/a": (np.arange(0, 400, 7), np.ones(58)), "batch/length": np.ones(400)}
    made = run(loss, norm=level(), dtype="fp16", more=seen)  # type: ignore[arg-type]
    for off, panel in (([], "budget=None"), (["activations"], "without torch.compile")):
        header = made.header._replace(source="sismo-run", config={"sismo": {"off": off}})
        document = diagnose(replace(made, header=header))
        hows = {str(item.missing): str(item.how) for item in document.unknown}
        assert not any(how.startswith("record") and "every rank" not in how for how in hows.values())
        assert panel in hows["act_max_abs at step 300"]
        assert "nothing to turn on" in hows["batch/label_share"]


def test_a_recorded_run_is_told_that_the_recorder_found_no_loss_scale_and_a_log_how_to_log_it() -> None:
    log = run(loss=falling())
    recorded = replace(log, header=log.header._replace(source="sismo-run"))
    assert "scaler.get_scale()" in str(to_record("loss_scale", log))
    assert "nothing to turn on" in str(to_record("loss_scale", recorded))
    # What the loop alone can know is asked for in both.
    assert str(to_record("loss_class", recorded)) == str(to_record("loss_class", log)) == "log the loss per class or per domain"


def test_weights_in_pieces_are_not_blamed_on_a_compiler() -> None:
    made = run(loss=falling())
    for off, want in (("gradients", "FSDP1"), ("spectral", "FSDP1"), ("units", "torch.compile")):
        channel = {"gradients": "grad_norm_group", "spectral": "spectral", "units": "dead_units"}[off]
        header = made.header._replace(source="sismo-run", config={"sismo": {"off": [off]}})
        assert want in str(to_record(channel, replace(made, header=header)))
