"""What a probe proved is said to be proved, is not asked for once more, and is what the change is verified with."""

from __future__ import annotations

import numpy as np
import pytest
from support.runs import event
from support.runs import run as made

from sismo.dashboard.registry import panel_of
from sismo.incident.investigate import investigate
from sismo.incident.types import Incident
from sismo.records.types import Run
from sismo.report.incident.sections import sections
from sismo.report.language import language
from sismo.signals.presets import preset
from sismo.tree.catalogue import causes, remedies
from sismo.tree.remedy import Kind

PROOF = event(399, "probe", probe="causal", causality="broken", where="blocks.0.attn")


def too_good(*events: object) -> Run:
    """A language model whose training and validation loss vanish together."""
    loss = 6.2 * np.exp(-np.arange(400) / 40) + 0.002
    val = {step: float(loss[step]) for step in range(9, 400, 10)}
    return made(loss=loss, val=val, lr=np.full(400, 1e-3), vocab_size=512, events=events)  # type: ignore[arg-type]


def of(run: Run) -> Incident:
    return investigate(run, preset("robust"), panel_of)


def test_a_note_is_no_explanation_of_what_broke() -> None:
    """The loss that is lost to a mask still falls at the end of the log: true, and nothing that could be the cause."""
    found = of(too_good(PROOF))
    named = {one.id for one in found.hypotheses if one.confidence is not None}
    notes = {one.id for one in found.document.causes if one.severity == "note" and not one.consequence_of}
    assert named
    assert not named & notes


def test_what_is_wrong_from_the_start_is_drawn_to_where_it_shows() -> None:
    found = of(too_good(PROOF))
    shown = max(one.start for one in found.document.causes[0].evidence if one.start is not None)
    assert found.onset == 0
    assert all(picture.span[0] == 0 and picture.span[1] >= min(shown + 100, 399) for picture in found.pictures)


def test_before_the_proof_the_experiment_is_asked_for() -> None:
    found = of(too_good())
    assert "sismo probe causal" in str(found.verification.check)
    assert not any("proved by" in str(text) for text in found.root.rests_on)


def test_after_it_the_cause_is_proved_and_the_change_is_the_cure() -> None:
    found = of(too_good(PROOF))
    assert found.prescription.cause == "causal-mask-broken"
    assert (found.prescription.kind, found.prescription.probe) == ("code", "")
    assert "tril" in str(found.prescription.action)
    assert str(found.root.rests_on[0]).startswith("proved by sismo probe causal: ")
    assert found.root.gap is None
    assert not any("what decides" in str(gap.what) for gap in found.undecided)
    assert "sismo probe causal --entry YOUR.MODULE:build ends with 0" in str(found.verification.check)


@pytest.mark.parametrize("code", ["en", "es"])
def test_it_is_read_in_both_languages(code: str) -> None:
    said = str(sections(of(too_good(PROOF)), language(code)))
    assert {"en": "proved by sismo probe causal", "es": "probado por sismo probe causal"}[code] in said
    assert {"en": "Verify with", "es": "Verifica con"}[code] in said


@pytest.mark.parametrize("cause", [name for name, remedy in remedies().items() if remedy.kind is not Kind.NOTHING])
def test_every_remedy_is_verified_by_a_command(cause: str) -> None:
    from sismo.incident.closing import verification
    from sismo.incident.prescribe import prescribe
    from sismo.tree.catalogue import causes
    from sismo.tree.types import Diagnosis, Finding, Severity

    run = too_good()
    finding = Finding(causes()[cause], Severity.BROKEN, 100, 0.9, (), (), (), ())
    diagnosis = Diagnosis((finding,), (), False, True)
    check = str(verification(run, False, finding, prescribe(run, diagnosis)).check)
    assert check.startswith((f"sismo probe {remedies()[cause].probe or 'none'}", "sismo diagnose NEW_RUN"))
    if cause in ("causal-mask-broken", "log-of-zero", "init-too-large", "hardware-fault"):
        assert check.startswith("sismo probe")


def test_a_diagnosis_after_the_proof_asks_for_the_cure_names_the_module_and_dates_it_from_the_start() -> None:
    before, after = of(too_good()).document.causes[0], of(too_good(PROOF)).document.causes[0]
    assert "causality probe" in str(before.first_action)
    assert str(before.confirm) != str(before.first_action)
    assert "tril" in str(after.first_action)
    assert "sismo probe causal has shown it" in str(after.confirm)
    assert any("blocks.0.attn lets the future in" in str(one.text) for one in after.evidence)
    assert after.step == 0
    assert "causality probe" not in " ".join(str(text) for text in (after.first_action, *after.fixes, after.confirm))


def test_no_cause_asks_twice_for_the_same() -> None:
    for cause in causes().values():
        asked = [cause.first_action, *cause.fixes, cause.confirm]
        assert len(set(asked)) == len(asked), cause.id


def test_what_is_considered_beside_a_jump_are_other_jumps_and_no_lost_loss() -> None:
    """The alternatives to targets that went wrong are what else makes a loss jump; a loss that stays finite has no NaN to explain."""
    loss = 3.0 + 0.02 * np.random.default_rng(0).standard_normal(400)
    loss[250:] += 3.0
    found = of(made(loss=loss, norm=np.full(400, 1.0), lr=np.full(400, 1e-3), dtype="fp32"))
    named = [one.id for one in found.hypotheses if one.confidence is not None]
    assert {"labels-corrupted", "optimizer-state-corrupted"} & set(named)
    fallen = [causes()[one.id].family for one in found.hypotheses if one.confidence is None]
    assert fallen[0] == causes()[named[0]].family
    assert "non-finite" not in fallen
    assert not any("scaler" in str(gap.how) for gap in found.undecided)


def test_a_command_is_not_translated() -> None:
    """``replay`` is a word of the tables as well, and has a translation there."""
    proof = event(300, "probe", probe="replay", fp32="clean", replay="agrees")
    lost = np.where(np.arange(400) < 300, 3.0, np.nan)
    found = of(made(loss=lost, norm=lost, dtype="fp16", events=[proof]))
    assert found.document.causes[0].id == "fp16-overflow"
    spanish = language("es")
    assert spanish.say(found.document.causes[0].confirm) == "Está probado: lo ha mostrado sismo probe replay."
    assert "probado por sismo probe replay" in str(sections(found, spanish))
