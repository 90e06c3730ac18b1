"""What is learnt by heart: the training loss from one moment on, or the few batches that are all a run ever sees."""

from __future__ import annotations

import numpy as np
import pytest
from support.runs import alarms, falling, level, names, run, state
from support.trios import Trio, check, check_all, each

from sismo.judge import judge
from sismo.records.types import Run
from sismo.signals.detectors import repeats
from sismo.signals.rolling import Floats
from sismo.signals.types import State

STEP = np.arange(600)
CALM = falling(600, noise=0.03)
BY_HEART = np.where(STEP < 300, np.maximum(CALM, 2.0), 0.2 + 1.9 * np.exp(-(STEP - 300) / 15.0) + level(600, 0.0, 0.01))
EVALS = np.arange(0, 600, 25)
FALLS, RISES = 2.0 + 4.0 * np.exp(-EVALS / 60.0), 2.0 + 4.0 * np.exp(-EVALS / 60.0) + 0.02 * np.maximum(0, EVALS - 300)

SINKS = falling(600, end=0.02, noise=0.003)


def few(loss: Floats, val: Floats, distinct: int = 1) -> Run:
    """A recorded run that sees so many batches in turn: how often each was seen in 20 steps is counted as the recorder does."""
    prints = (1e12 + STEP % distinct).astype(np.float64)
    counts = np.array([np.count_nonzero(prints[max(0, step - 19) : step + 1] == prints[step]) for step in STEP], dtype=np.float64)
    return run(loss=loss, val=(EVALS, val), more={"batch/fingerprint": prints, "batch/repeats": counts})


TRIOS = {
    "learns-by-heart-at-once": Trio(run(loss=BY_HEART, val=(EVALS, RISES)), run(loss=BY_HEART, val=(EVALS, FALLS)), run(loss=BY_HEART)),
    "few-batches-by-heart": Trio(few(SINKS, RISES), few(CALM, FALLS), run(loss=SINKS, val=(EVALS, RISES))),
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


@pytest.mark.parametrize("distinct", [1, 2, 6, 8, 9])
def test_training_on_the_whole_of_a_small_data_set_is_no_fault_of_the_loader(distinct: int) -> None:
    assert alarms(few(CALM, FALLS, distinct)) == []
    assert state(few(CALM, FALLS, distinct), "batch-repeats") is State.ABSENT


@pytest.mark.parametrize("distinct", [1, 2, 6])
def test_a_loader_that_stands_still_from_the_first_step_is_one(distinct: int) -> None:
    assert "duplicate-batch" in alarms(few(SINKS, RISES, distinct))


def test_a_batch_that_comes_again_among_others_is_one() -> None:
    prints = (1e12 + STEP).astype(np.float64)
    prints[400:] = prints[400]
    counts = np.where(STEP < 403, 1.0, np.minimum(STEP - 399.0, 20.0))
    made = run(loss=CALM, val=(EVALS, FALLS), more={"batch/fingerprint": prints, "batch/repeats": counts})
    assert names(made)[0] == "duplicate-batch"


def test_batches_that_are_all_different_are_not_served_again() -> None:
    prints = {"batch/fingerprint": 1e12 + STEP.astype(np.float64)}
    assert state(run(loss=BY_HEART, val=(EVALS, RISES), more=prints), "learns-by-heart-at-once") is State.ABSENT
    again = {"batch/fingerprint": 1e12 + (STEP % 300).astype(np.float64)}
    assert state(run(loss=BY_HEART, val=(EVALS, RISES), more=again), "learns-by-heart-at-once") is State.PRESENT
    some = {"batch/fingerprint": (STEP[:100], 1e12 + STEP[:100].astype(np.float64))}
    assert state(run(loss=BY_HEART, val=(EVALS, RISES), more=some), "learns-by-heart-at-once") is State.PRESENT


def test_a_rough_loss_that_happens_to_halve_is_no_fault_of_the_loader() -> None:
    """Few rows of a heavy-tailed loss in a part, beside a validation loss that goes up and down."""
    false = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        loss = (0.1 + 0.9 * np.exp(-np.arange(450) / 60.0)) * rng.lognormal(0.0, 0.8, 450)
        val = (np.arange(49, 450, 50), np.array([0.39, 0.16, 0.17, 0.11, 0.13, 0.098, 0.092, 0.103, 0.108]))
        false += state(run(loss=loss, val=val), "learns-by-heart-at-once") is State.PRESENT
    assert false == 0


def test_a_loader_that_never_gave_another_batch_and_a_data_set_of_one_are_an_open_pair() -> None:
    found = judge(few(SINKS, RISES)).findings
    assert [finding.cause.id for finding in found[:2]] == ["overfitting", "duplicate-batch"]
    assert found[1].confidence < 0.5
