"""Scores on held-out examples that never move, of a model that gives every example the same answer."""

from __future__ import annotations

import numpy as np
import pytest
from support.runs import falling, level, names, run, state
from support.trios import Trio, check, check_all, each

import sismo
from sismo.records.types import Run
from sismo.signals.detectors import scores
from sismo.signals.types import State

ROWS = 30
SIGNAL = "held-out-score-never-moves"
STUCK, LEARNS = level(ROWS, 3.31, 0.01), falling(ROWS)
SAME = {"metric/val_acc": np.full(ROWS, 4.27)}
MOVES = {"metric/val_acc": np.linspace(20, 70, ROWS)}

TRIOS = {SIGNAL: Trio(run(loss=STUCK, more=SAME), run(loss=STUCK, more=MOVES), run(more=SAME))}


def test_every_signal_of_this_file_is_tried() -> None:
    check_all(scores, TRIOS)


@each(TRIOS)
def test_fires_stays_silent_and_does_not_know(signal: str, trio: Trio) -> None:
    check(signal, trio)


def test_nothing_is_learnt_where_every_example_gets_the_same_answer() -> None:
    found = sismo.diagnose(run(loss=STUCK, more=SAME))
    assert names(run(loss=STUCK, more=SAME))[0] == "no-learning"
    assert found.healthy is False
    assert found.causes[0].confidence < 0.6


@pytest.mark.parametrize(("value", "told"), [
    (0.5, State.PRESENT), (50.0, State.PRESENT), (0.1, State.PRESENT), (0.6375, State.PRESENT), (33.3333, State.PRESENT),
    (0.0, State.ABSENT), (1.0, State.ABSENT), (100.0, State.ABSENT), (0.98, State.ABSENT), (0.9912, State.ABSENT), (0.7, State.ABSENT),
])  # fmt: skip
def test_a_score_of_nothing_or_all_or_of_few_digits_may_stand(value: float, told: State) -> None:
    assert state(run(loss=STUCK, more={"metric/eval_accuracy": np.full(ROWS, value)}), SIGNAL) is told


@pytest.mark.parametrize("name", ["metric/train_acc", "metric/val_ppl", "metric/val_samples_per_second", "metric/acc"])
def test_what_is_no_score_on_held_out_examples_tells_nothing(name: str) -> None:
    assert state(run(loss=STUCK, more={name: np.full(ROWS, 4.27)}), SIGNAL) is State.ABSENT


AFTER = np.arange(4000, 4000 + ROWS)


@pytest.mark.parametrize("made", [
    run(loss=LEARNS, more=SAME),
    run(loss=STUCK, val=LEARNS, more=SAME),
    run(loss=(AFTER, STUCK), more={"metric/val_acc": (AFTER, np.full(ROWS, 4.27))}),
    run(loss=STUCK[:9], more={"metric/val_acc": np.full(9, 4.27)}),
])  # fmt: skip
def test_a_run_that_learns_or_that_began_before_the_log_may_hold_its_score(made: Run) -> None:
    """A batch norm in the wrong mode, a set of ten examples, or a run that is done."""
    assert state(made, SIGNAL) is State.ABSENT


def test_one_of_two_scores_that_moves_is_enough() -> None:
    assert state(run(loss=STUCK, more={**SAME, "metric/val_f1": np.linspace(0.2, 0.4, ROWS)}), SIGNAL) is State.ABSENT
