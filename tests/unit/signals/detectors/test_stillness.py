"""The noise from batch to batch, where it stops: from then on one batch comes again and again."""

from __future__ import annotations

import numpy as np
import pytest
from support.runs import alarms, cosine, falling, names, run, state
from support.trios import Trio, check, check_all, each

from sismo.judge import judge
from sismo.records.types import Run
from sismo.signals.detectors import stillness
from sismo.signals.rolling import Floats
from sismo.signals.types import State

STEP = np.arange(600)
EVALS = np.arange(0, 600, 25)
RISES = np.where(EVALS < 300, 2.0 + 4.0 * np.exp(-EVALS / 60.0), 2.0 + 0.005 * (EVALS - 300))
FALLS = 2.0 + 4.0 * np.exp(-EVALS / 60.0)
NOISY = falling(600, noise=0.1)


def one_batch_from(step: int, seed: int = 0) -> Floats:
    """A run whose loader stands still from a step on: the loss falls smoothly, and slowly at first."""
    noisy = falling(600, noise=0.1, seed=seed)
    return np.where(step > STEP, noisy, 2.0 * np.exp(-np.maximum(0, STEP - step) / 60.0))


def drawn_from(rows: int, seed: int = 0) -> Run:
    """Batches so many times larger from the middle on."""
    noise = np.random.default_rng(seed).standard_normal(600) * 0.1 / np.where(STEP < 300, 1.0, rows**0.5)
    return run(loss=2.0 + 3.0 * np.exp(-STEP / 80.0) + noise, val=(EVALS, RISES), lr=cosine(600))


TRIOS = {
    "noise-stops": Trio(
        run(loss=one_batch_from(300), val=(EVALS, RISES)), run(loss=one_batch_from(300), val=(EVALS, FALLS)), run(loss=one_batch_from(300))
    )
}


def test_every_signal_of_the_file_is_tried() -> None:
    check_all(stillness, TRIOS)


@each(TRIOS)
def test_fires_stays_silent_and_does_not_know(signal: str, trio: Trio) -> None:
    check(signal, trio)


@pytest.mark.parametrize("seed", range(5))
def test_one_batch_again_and_again_is_the_loader_and_not_overfitting(seed: int) -> None:
    assert names(run(loss=one_batch_from(300, seed), val=(EVALS, RISES)))[0] == "duplicate-batch"


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("times", [1, 2, 8])
def test_larger_batches_are_less_noisy_and_no_fault_of_the_loader(times: int, seed: int) -> None:
    assert state(drawn_from(times, seed), "noise-stops") is State.ABSENT


def test_a_loss_that_is_printed_with_one_digit_and_stands_is_not_still() -> None:
    printed = np.round(falling(600, end=0.1, noise=0.05), 1)
    assert state(run(loss=printed, val=(EVALS, RISES)), "noise-stops") is State.ABSENT


def test_a_second_stage_on_all_data_at_once_is_no_fault_of_the_loader() -> None:
    assert alarms(run(loss=one_batch_from(300), val=(EVALS, FALLS), lr=cosine(600))) == []


@pytest.mark.parametrize("seed", range(5))
def test_overfitting_with_noise_from_batch_to_batch_stays_overfitting(seed: int) -> None:
    chance = np.random.default_rng(seed)
    learnt = (0.01 + 3.0 * np.exp(-STEP / 60.0)) * np.exp(0.3 * chance.standard_normal(600))
    assert names(run(loss=learnt, val=(EVALS, RISES), lr=cosine(600)))[0] == "overfitting"


def test_a_second_way_to_see_it_makes_it_no_less_sure() -> None:
    smooth = run(loss=one_batch_from(300), val=(EVALS, RISES))
    sudden = np.where(STEP < 300, NOISY, 0.2 + 1.9 * np.exp(-np.maximum(0, STEP - 300) / 15.0))
    both = judge(run(loss=sudden, val=(EVALS, RISES))).findings[0]
    assert {"noise-stops", "learns-by-heart-at-once"} <= {seen.signal for seen in both.evidence}
    assert both.confidence >= judge(smooth).findings[0].confidence


def test_scores_that_fade_to_one_guess_have_no_noise_and_are_no_fault_of_the_loader() -> None:
    """Weight decay that is far too high: every batch has the same loss once the weights are gone."""
    faded = np.where(STEP < 300, NOISY, 5.0 - 3.0 * np.exp(-np.maximum(0, STEP - 300) / 10.0))
    assert state(run(loss=faded, val=(EVALS, RISES)), "noise-stops") is State.ABSENT


def test_the_steps_of_an_optimizer_over_all_of_the_data_are_no_noise_of_batches() -> None:
    """Full batches: Adam's first steps make the curve a thousandth rough, and its last ones not even that."""
    step = np.arange(400)
    rough = np.where(step < 200, 5e-4, 1e-7) * np.random.default_rng(0).standard_normal(400)
    made = run(loss=(0.002 + 2 * np.exp(-step / 60)) * (1 + rough), val={49: 1.2, 149: 1.0, 249: 1.5, 349: 2.0})
    assert state(made, "noise-stops") is State.ABSENT
