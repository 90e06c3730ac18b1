"""Leaps of the loss at the start, in a short log and at the end."""

from __future__ import annotations

import numpy as np
import pytest
from support.runs import alarms, falling, level, names, run, state, with_at
from support.trios import Trio, check, check_all, each

from sismo.signals.detectors import leaps
from sismo.signals.types import State

CALM = falling(600)
NORM = level(600, 1.0, 0.05)

TRIOS = {
    "loss-leaps-at-start": Trio(run(loss=with_at(CALM, 3, *([14.0] * 20))), run(loss=with_at(CALM, 3, 14.0)), run(loss=[6.0])),
    "loss-leaps-in-short-log": Trio(run(loss=[1.2, 1.1, 1.15, 1.1, 38.0, 5210.0]), run(loss=[1.2, 1.1, 1.15, 1.1, 1.3]), run(norm=NORM)),
    "loss-leaps-at-end": Trio(run(loss=with_at(CALM[:60], 58, 90.0, 80.0)), run(loss=with_at(CALM[:60], 59, 9.0)), run(norm=NORM)),
}


def test_every_signal_of_the_file_is_tried() -> None:
    check_all(leaps, TRIOS)


@each(TRIOS)
def test_fires_stays_silent_and_does_not_know(signal: str, trio: Trio) -> None:
    check(signal, trio)


@pytest.mark.parametrize("seed", range(5))
def test_one_high_row_at_the_end_of_the_first_rows_is_no_leap(seed: int) -> None:
    noisy = with_at(0.2 * np.random.default_rng(seed).lognormal(0.0, 0.7, 400), 0, 0.05)
    assert state(run(loss=with_at(noisy, 11, 4.0)), "loss-leaps-at-start") is State.ABSENT


def test_an_objective_that_may_rise_does_not_explode() -> None:
    rises = 0.1 + 0.01 * np.arange(400) + 0.01 * np.random.default_rng(0).standard_normal(400)
    explodes = np.where(np.arange(400) < 350, 0.1, 2.0 ** np.minimum(np.arange(400) - 350, 20)) * np.exp(level(400, 0.0, 0.1))
    assert alarms(run(loss=rises, objective="rl")) == []
    assert alarms(run(loss=explodes, objective="rl")) != []


@pytest.mark.parametrize("seed", range(10))
def test_the_first_rows_of_a_short_log_whose_noise_multiplies_are_no_leap(seed: int) -> None:
    noisy = 2.0 * np.random.default_rng(seed).lognormal(0.0, 0.9, 22)
    assert state(run(loss=with_at(noisy, 0, 1.0)), "loss-leaps-at-start") is State.ABSENT
    assert state(run(loss=np.concatenate([[0.6, 4.9], level(20, 9.0, 0.5)])), "loss-leaps-at-start") is State.PRESENT


@pytest.mark.parametrize("rows", [20, 45, 100, 300])
@pytest.mark.parametrize("lost", [1, 3])
def test_a_log_that_ends_in_an_explosion_is_not_healthy(rows: int, lost: int) -> None:
    loss = level(rows, 15.5, 0.4)
    assert alarms(run(loss=with_at(loss, rows - lost, *([9000.0] * lost))))[0] in ("lr-too-high", "optimizer-state-corrupted")
    assert alarms(run(loss=loss)) == []


def test_a_loss_that_climbs_from_its_first_row_does_not_leap() -> None:
    assert "lr-too-high" not in names(run(loss=np.linspace(12, 20, 12) + 0.05 * np.cos(np.arange(12))))


def test_what_comes_back_to_ten_times_its_start_is_not_back() -> None:
    thrown = np.concatenate([[2e11, 1e24], 1e22 * 0.8 ** np.arange(12), [np.inf], np.full(10, np.nan)])
    assert names(run(loss=thrown, norm=np.ones(25)))[0] == "lr-too-high"
    assert "log-of-zero" not in names(run(loss=thrown))


def test_two_numbers_are_no_leap() -> None:
    assert alarms(run(loss=[2.30, 20.29])) == []
    assert alarms(run(loss=[2.30, 20.29, 25.0])) == ["lr-too-high"]
