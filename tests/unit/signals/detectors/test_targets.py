"""What a recorded run is trained towards."""

from __future__ import annotations

import numpy as np
import pytest
from support.runs import alarms, falling, look, names, run, with_at
from support.trios import Trio, check, check_all, each

from sismo.judge import judge
from sismo.records.types import Run
from sismo.signals.detectors import targets
from sismo.signals.types import State

STEP = np.arange(400)
LOOKS = np.arange(0, 400, 50)
LOOKED = LOOKS.size
LEARNS = falling(400)
COLLAPSES = np.maximum(1.7 * np.exp(-STEP / 15), 1e-3)


def towards(spread: object, level: object, loss: object = LEARNS, classes: int = 0, **more: object) -> Run:
    seen: dict[str, object] = {
        "target/spread": (LOOKS, np.broadcast_to(spread, LOOKED)),
        "target/level": (LOOKS, np.broadcast_to(level, LOOKED)),
    }  # type: ignore[arg-type]
    if classes:
        seen["target/classes"] = (LOOKS, np.full(LOOKED, classes))
    return run(loss=loss, more={**seen, **more})  # type: ignore[arg-type]


def levels(level: object) -> Run:
    return run(loss=LEARNS, more={"target/level": level})  # type: ignore[dict-item]


def copies(share: float, loss: object = COLLAPSES, future: float | None = None) -> Run:
    seen = {"target/as_input": (LOOKS, np.full(LOOKED, share))}
    if future is not None:
        seen["batch/future_keys"] = (LOOKS, np.full(LOOKED, future))
    return run(loss=loss, more=seen)  # type: ignore[arg-type]


def sees(following: float, future: float, first: int = 0) -> Run:
    """So much of the labels is the next token of the input, and so much of what comes later is seen."""
    seen = {"target/as_next": (LOOKS, np.full(LOOKED, following)), "batch/future_keys": (LOOKS + first, np.full(LOOKED, future))}
    return run(loss=LEARNS, more=seen)  # type: ignore[arg-type]


TRIOS = {
    "targets-all-equal": Trio(towards(0, 2, classes=6), towards(5, 2.4, classes=6), run(loss=LEARNS)),
    "targets-vary": Trio(towards(5, 2.4), towards(0, 2), run(loss=LEARNS)),
    "targets-nonfinite": Trio(levels(with_at(np.ones(400), 200, np.nan)), levels(np.ones(400)), run(loss=LEARNS)),
    "answer-stands-in-sight": Trio(sees(1.0, 1.0), sees(1.0, 0.0), run(loss=LEARNS)),
    "labels-differ-from-inputs": Trio(copies(0.9), copies(1.0), run(loss=LEARNS)),
    "future-is-hidden": Trio(sees(1.0, 0.0), sees(1.0, 0.05), sees(1.0, 0.0, first=3)),
    "targets-copied-behind-mask": Trio(copies(1.0, future=0.0), copies(1.0, future=1.0), copies(1.0)),
    "targets-are-the-inputs": Trio(copies(1.0), copies(0.1), run(loss=LEARNS)),
}  # fmt: skip


def test_every_signal_of_the_file_is_tried() -> None:
    check_all(targets, TRIOS)


@each(TRIOS)
def test_fires_stays_silent_and_does_not_know(signal: str, trio: Trio) -> None:
    check(signal, trio)


def test_targets_of_one_class_are_named_before_what_follows_from_them() -> None:
    """The validation loss has the true labels: it climbs from the first evaluation on, which looks like overfitting."""
    val = {"loss/val": (np.arange(49, 400, 50), np.linspace(6.5, 7.6, 8))}
    made = towards(0, 2, COLLAPSES, 6, **val)
    assert names(made)[0] == "degenerate-targets"
    assert {f.consequence_of for f in judge(made).findings if f.cause.id == "overfitting"} == {"degenerate-targets"}
    assert alarms(towards(5, 2.4, COLLAPSES, 6, **val))[0] == "overfitting"


@pytest.mark.parametrize(("value", "state"), [(0.0, State.ABSENT), (0.7, State.PRESENT)])
def test_an_equation_asks_for_nought_everywhere(value: float, state: State) -> None:
    """The residual of a differential equation is to be 0; a quantity that is to be forecast is not the same in all batches."""
    assert look(towards(0, value), "targets-all-equal").state is state


def test_a_batch_or_two_of_one_class_are_no_degenerate_targets() -> None:
    spread = np.where(np.arange(LOOKED) < 6, 0, 1)
    assert alarms(towards(spread, spread, classes=2)) == []
    assert alarms(towards(0, np.arange(LOOKED) % 2, classes=2)) == []  # batches sorted by class


def test_two_looks_do_not_tell() -> None:
    few = {"target/spread": {0: 0.0, 200: 0.0}, "target/level": {0: 1.0, 200: 1.0}, "target/as_input": {0: 1.0, 200: 1.0}}
    made = run(loss=COLLAPSES, more=few)
    assert {look(made, signal).state for signal in TRIOS if signal not in ("targets-nonfinite", "answer-stands-in-sight")} == {
        State.UNKNOWN
    }


def test_a_small_gradient_beside_targets_that_differ_is_no_matter_of_the_targets() -> None:
    silent = np.full(400, 1e-9)
    assert alarms(run(loss=np.full(400, 1.9), norm=silent))[0] == "degenerate-targets"
    still = {"target/spread": (LOOKS, np.full(LOOKED, 4.0)), "target/level": (LOOKS, np.full(LOOKED, 2.0))}
    assert "degenerate-targets" not in names(run(loss=np.full(400, 1.9), norm=silent, more=still))  # type: ignore[arg-type]


def test_labels_that_are_the_inputs_are_an_answer_that_is_seen() -> None:
    """To copy is what an autoencoder is for, and no number tells it from a leak; a model that may not see what comes is no autoencoder."""
    for unknown in (copies(1.0), copies(1.0, future=1.0)):
        assert alarms(unknown) == []
        assert "target-in-input" in names(unknown)
    blind = judge(copies(1.0, future=0.0)).findings[0]
    assert (blind.cause.id, blind.severity.value) == ("target-in-input", "broken")
    assert blind.confidence > 0.75
    for honest in (copies(0.85), copies(0.1), copies(1.0, LEARNS)):
        assert alarms(honest) == []


def test_targets_that_are_not_finite_are_no_log_of_zero() -> None:
    lost = np.where(STEP < 200, LEARNS, np.nan)
    seen = {"target/level": np.where(STEP == 200, np.nan, 1.0), "batch/nonfinite": np.zeros(400)}
    assert alarms(run(loss=lost, norm=lost, dtype="fp32", more=seen))[0] == "nonfinite-input"  # type: ignore[arg-type]


def test_a_loss_that_comes_down_to_the_guess_and_stays_there_has_learnt_nothing() -> None:
    down = np.log(32) + 0.4 * np.exp(-STEP / 20) + 0.003 * np.sin(7 * STEP)
    assert alarms(towards(31, 15.5, down, 32))[0] == "no-learning"
    assert alarms(run(loss=down)) == []
    below = np.log(32) * (0.9 + 0.1 * np.exp(-STEP / 20)) + 0.003 * np.sin(7 * STEP)
    assert alarms(towards(31, 15.5, below, 32)) == []


def test_a_model_that_predicts_the_next_token_and_sees_it_has_no_mask() -> None:
    """An encoder sees all of its sequence and predicts something else; of an encoder with a decoder one layer hides the future."""
    found = judge(sees(1.0, 1.0)).findings[0]
    assert (found.cause.id, found.severity.value) == ("causal-mask-broken", "broken")
    assert found.confidence > 0.75
    for honest in (sees(0.1, 1.0), sees(1.0, 0.0), sees(1.0, 0.05), sees(1.0, 1.0, first=3)):
        assert alarms(honest) == []


def test_a_task_that_is_solved_exactly_behind_a_mask_is_no_leak() -> None:
    """A sequence that is copied, sorted or added up goes to 0 on both splits; recorded, the model is seen not to look ahead."""
    val = {"loss/val": (np.arange(0, 400, 20), COLLAPSES[::20])}
    assert "causal-mask-broken" in alarms(run(loss=COLLAPSES, vocab_size=24, more=val))  # type: ignore[arg-type]
    for future, labels, alarmed in ((0.0, 0.1, False), (1.0, 0.1, True), (0.0, 1.0, True)):
        seen = {"target/as_input": (LOOKS, np.full(LOOKED, labels)), "batch/future_keys": (LOOKS, np.full(LOOKED, future))}
        assert bool(alarms(run(loss=COLLAPSES, vocab_size=24, more={**val, **seen}))) == alarmed  # type: ignore[arg-type]
