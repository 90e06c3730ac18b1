"""Whether what was learnt is lost again."""

from __future__ import annotations

import numpy as np
import pytest
from support.runs import alarms, cosine, falling, level, look, names, run
from support.trios import Trio, check, check_all, each

from sismo.signals.detectors import gain
from sismo.signals.types import State

CALM = falling(400)
BACK = np.where(np.arange(400) < 250, CALM, CALM[0] - 0.05 + (CALM - CALM.mean()) * 0.01)

KEPT, LOST = {0: 6.0, 100: 3.0, 200: 2.2, 300: 2.3, 399: 2.6}, {0: 6.0, 100: 3.0, 200: 2.2, 300: 5.0, 350: 5.5, 399: 5.8}

STEP = np.arange(600)

TRIOS = {
    "gain-lost": Trio(run(loss=BACK), run(loss=CALM), run(val={0: 1.0})),
    "validation-keeps-gain": Trio(run(loss=BACK, val=KEPT), run(loss=BACK, val=LOST), run(loss=BACK)),
}


def test_every_signal_of_the_file_is_tried() -> None:
    check_all(gain, TRIOS)


@each(TRIOS)
def test_fires_stays_silent_and_does_not_know(signal: str, trio: Trio) -> None:
    check(signal, trio)


def test_half_of_what_was_learnt_is_enough_where_it_climbs_all_the_way() -> None:
    fall = CALM[0] - CALM[-20:].mean()
    climbs = CALM + 0.6 * fall * np.clip((np.arange(400) - 200) / 200, 0, 1)
    assert look(run(loss=climbs), "gain-lost").state is State.PRESENT
    assert look(run(loss=np.where(np.arange(400) < 250, CALM, CALM + 0.6 * fall)), "gain-lost").state is State.ABSENT


def test_training_that_is_lost_while_validation_is_kept_is_the_labels() -> None:
    assert names(run(loss=BACK, val=KEPT))[0] == "labels-corrupted"
    assert names(run(loss=BACK, val=LOST))[0] != "labels-corrupted"


def test_validation_of_before_says_nothing_of_what_came_after() -> None:
    assert names(run(loss=BACK, val={0: 6.0, 100: 3.0, 200: 2.2, 240: 2.1, 350: 9.9}))[0] != "labels-corrupted"
    assert look(run(loss=BACK, val={0: 6.0, 60: 4.0, 120: 3.0, 200: 2.2}), "validation-keeps-gain").state is State.UNKNOWN


def test_a_loss_that_gives_back_a_third_or_is_back_in_time_has_lost_nothing() -> None:
    fall = CALM[0] - CALM[-20:].mean()
    assert look(run(loss=np.where(np.arange(400) < 250, CALM, CALM + 0.33 * fall)), "gain-lost").state is State.ABSENT
    assert look(run(loss=np.where(abs(np.arange(400) - 200) < 40, CALM[0], CALM)), "gain-lost").state is State.ABSENT


@pytest.mark.parametrize("at", [200, 400])
def test_what_is_lost_in_the_middle_of_the_log_is_not_healthy(at: int) -> None:
    """Long over by the last 200 steps, in which the loss only stands."""
    lost = np.where(STEP < at, falling(600), 6.0 - 3.9 * np.exp(-(STEP - at) / 15.0) + level(600, 0.0, 0.02))
    assert names(run(loss=lost, lr=cosine(600)))[0] == "silent-divergence"


@pytest.mark.parametrize("seed", range(5))
def test_noise_with_a_memory_learns_nothing_and_loses_nothing(seed: int) -> None:
    chance = np.random.default_rng(seed)
    wanders = np.zeros(600)
    for row in range(1, 600):
        wanders[row] = 0.9 * wanders[row - 1] + 0.05 * chance.standard_normal()
    assert alarms(run(loss=2.0 + wanders, lr=cosine(600))) == []
