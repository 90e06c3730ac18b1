"""A training loss that is learnt by heart from one moment on."""

from __future__ import annotations

import numpy as np
from support.runs import falling, level, names, run, state
from support.trios import Trio, check, check_all, each

from sismo.signals.detectors import repeats
from sismo.signals.types import State

STEP = np.arange(600)
CALM = falling(600, noise=0.03)
BY_HEART = np.where(STEP < 300, np.maximum(CALM, 2.0), 0.2 + 1.9 * np.exp(-(STEP - 300) / 15.0) + level(600, 0.0, 0.01))
EVALS = np.arange(0, 600, 25)
FALLS, RISES = 2.0 + 4.0 * np.exp(-EVALS / 60.0), 2.0 + 4.0 * np.exp(-EVALS / 60.0) + 0.02 * np.maximum(0, EVALS - 300)

TRIOS = {
    "learns-by-heart-at-once": Trio(run(loss=BY_HEART, val=(EVALS, RISES)), run(loss=BY_HEART, val=(EVALS, FALLS)), run(loss=BY_HEART))
}


def test_every_signal_of_the_file_is_tried() -> None:
    check_all(repeats, TRIOS)


@each(TRIOS)
def test_fires_stays_silent_and_does_not_know(signal: str, trio: Trio) -> None:
    check(signal, trio)


def test_batches_that_come_again_are_told_from_overfitting() -> None:
    assert names(run(loss=BY_HEART, val=(EVALS, RISES)))[0] == "duplicate-batch"
    slowly = run(loss=falling(600, end=0.05, noise=0.01), val=(EVALS, RISES))
    assert names(slowly)[0] == "overfitting"


def test_the_second_epoch_of_a_small_corpus_is_no_fault_of_the_loader() -> None:
    made = run(loss=BY_HEART, val=(EVALS, RISES), more={"epoch": STEP / 300.0})
    assert state(made, "learns-by-heart-at-once") is State.ABSENT
