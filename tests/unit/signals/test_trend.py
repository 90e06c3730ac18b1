"""Trends against brute force and scipy, and the rules for sparse logs."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from unit.signals.curves import descent, series

from sismo.signals import trend as trends


def _noise(seed: int, rows: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.random.default_rng(seed).standard_normal(rows)


@pytest.mark.parametrize("digits", [1, 8])
def test_mann_kendall_is_kendalls_tau_with_its_variance(digits: int) -> None:
    stats = pytest.importorskip("scipy.stats")
    for seed in range(10):
        values = np.round(np.linspace(0.0, 1.0, 60) + _noise(seed, 60), digits)
        score = sum(int(np.sign(later - first)) for first, later in itertools.combinations(values.tolist(), 2))
        counts = np.unique(values, return_counts=True)[1]
        variance = (60 * 59 * 125 - float(np.sum(counts * (counts - 1.0) * (2.0 * counts + 5.0)))) / 18.0
        assert trends.mann_kendall(values) == pytest.approx((score - np.sign(score)) / math.sqrt(variance))
        tau = stats.kendalltau(np.arange(60), values).statistic
        pairs = 60 * 59 / 2
        tied = pairs - float(np.sum(counts * (counts - 1.0))) / 2
        assert score == pytest.approx(tau * math.sqrt(pairs * tied))


def test_theil_sen_is_that_of_scipy() -> None:
    stats = pytest.importorskip("scipy.stats")
    x, y = np.sort(_noise(1, 80)), _noise(2, 80)
    assert trends.theil_sen(x, y) == pytest.approx(stats.theilslopes(y, x).slope)


def test_degenerate_input_has_no_trend() -> None:
    assert trends.mann_kendall(np.full(50, 2.0)) == 0.0
    assert trends.mann_kendall(np.array([1.0, 2.0])) == 0.0
    assert trends.theil_sen(np.array([1.0]), np.array([1.0])) == 0.0
    assert trends.recent_trend(series(np.full(100, np.nan))) is None
    flat = trends.recent_trend(series(np.zeros(100)))
    assert flat is not None
    assert (flat.z, flat.rise) == (0.0, 0.0)


def test_a_slow_rise_of_the_last_200_steps_is_found_in_noise() -> None:
    values = descent(0, 1500)
    values[1300:] += np.linspace(0.0, 0.3, 200)
    found = trends.recent_trend(series(values))
    assert found is not None
    assert found.z > 1.96
    assert 0.08 < found.rise < 0.2
    assert (found.points, found.start, found.end) == (20, 1300, 1499)


def test_healthy_noise_does_not_rise_by_five_percent() -> None:
    for seed in range(200):
        found = trends.recent_trend(series(descent(seed)))
        assert found is not None
        assert not (found.z > 1.96 and found.rise > 0.05)


def test_a_sparse_log_reaches_back_for_twenty_rows_and_says_so() -> None:
    found = trends.recent_trend(series(np.linspace(1.0, 2.0, 50), every=100))
    assert found is not None
    assert (found.points, found.start, found.end) == (20, 3000, 4900)
    assert trends.recent_trend(series(np.linspace(1.0, 2.0, 7), every=100)) is None


def test_strictly_rising_is_to_the_letter() -> None:
    assert trends.strictly_rising(series(np.arange(300.0)), 200) is True
    assert trends.strictly_rising(series(np.arange(100.0)), 200) is None
    bent = np.arange(300.0)
    bent[250] = 0.0
    assert trends.strictly_rising(series(bent), 200) is False


def test_the_minimum_of_an_eval_curve_and_the_rise_after_it() -> None:
    values = np.abs(np.linspace(-2.0, 3.0, 26)) + 1.0
    low = trends.minimum(series(values, every=500))
    assert low is not None
    assert low[0] == pytest.approx(5000, abs=500)
    assert trends.rise_after_minimum(series(values)) == pytest.approx((3.8 - 1.2) / 1.2)
    assert trends.rise_after_minimum(series(values[::-1])) == pytest.approx((2.8 - 1.2) / 1.2)
    assert trends.rise_after_minimum(series(np.linspace(3.0, 1.0, 30))) == pytest.approx(0.0, abs=0.02)
    assert trends.minimum(series(np.full(4, np.nan))) is None


def test_flat_is_noise_without_a_trend() -> None:
    assert trends.is_flat(series(0.69 + 0.01 * _noise(0, 400))) is True
    assert trends.is_flat(series(descent(0))) is False
    assert trends.is_flat(series(descent(0, 2000)), last=200) is True
    assert trends.is_flat(series(np.ones(5))) is None


@pytest.mark.parametrize("at", [10, 30, 50])
def test_a_step_alone_is_no_trend_beside_it_and_several_are(at: int) -> None:
    step = np.where(np.arange(60) < at, 0.0, 10.0)
    assert abs(trends.trend_beside_step(step)) < 0.5
    assert abs(trends.trend_beside_step(step + _noise(1, 60))) < 3
    assert trends.trend_beside_step(0.1 * np.arange(60) + step) > 3
    assert trends.trend_beside_step(np.array([0.0, 1.0, 2.0])) == 0.0
