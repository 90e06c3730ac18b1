"""Whether a model was in training mode when it was trained."""

from __future__ import annotations

import numpy as np
import pytest
from support.runs import falling, look, run
from support.trios import Trio, check, check_all, each

from sismo.judge import judge
from sismo.records.types import Run
from sismo.signals.detectors import modes
from sismo.signals.types import State

STEPS = np.arange(400)


def trained(mode: np.ndarray, *, val: tuple[int, ...] = (99, 199, 299, 399)) -> Run:
    return run(loss=falling(400), val={step: 2.0 - step / 400 for step in val} or None, more={"batch/training": mode})


LEFT, ALWAYS, NEVER = np.where(STEPS > 199, 0.0, 1.0), np.ones(400), np.zeros(400)
BARE = run(loss=falling(400))
TRIOS = {
    "left-in-evaluation-mode": Trio(trained(LEFT), trained(ALWAYS), BARE),
    "trained-in-evaluation-mode": Trio(trained(NEVER), trained(LEFT), BARE),
}


def test_every_signal_of_the_file_is_tried() -> None:
    check_all(modes, TRIOS)


@each(TRIOS)
def test_fires_stays_silent_and_does_not_know(signal: str, trio: Trio) -> None:
    check(signal, trio)


@pytest.mark.parametrize(
    ("mode", "val"),
    [
        (NEVER, (99, 199)),  # all along: it may be meant
        (np.where((STEPS > 199) & (STEPS < 250), 0.0, 1.0), (199,)),  # comes back
        (np.where(STEPS > 395, 0.0, 1.0), (395,)),  # for the last steps
        (LEFT, (150,)),  # no evaluation at that moment
        (LEFT, ()),
        (np.where(STEPS % 2, 0.0, 1.0), (199,)),  # in turn
    ],
)
def test_other_ways_of_being_in_evaluation_mode_may_be_meant(mode: np.ndarray, val: tuple[int, ...]) -> None:
    assert look(trained(mode, val=val), "left-in-evaluation-mode").state is State.ABSENT


def test_steps_of_which_nothing_is_known_are_not_guessed() -> None:
    half = run(loss=falling(400), more={"batch/training": (STEPS[:200], np.zeros(200))})
    assert look(half, "trained-in-evaluation-mode").state is State.UNKNOWN


@pytest.mark.parametrize(("mode", "severity"), [(LEFT, "warning"), (NEVER, "note"), (ALWAYS, None)])
def test_what_was_forgotten_is_a_warning_and_what_may_be_meant_a_note(mode: np.ndarray, severity: str | None) -> None:
    found = {finding.cause.id: finding.severity.value for finding in judge(trained(mode)).findings}
    assert found.get("train-in-eval-mode") == severity
