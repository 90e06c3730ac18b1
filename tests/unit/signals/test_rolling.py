"""Trailing moments against brute force, at sizes where sums of squares would cancel."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sismo.signals.rolling import Pyramid, robust_scale, trailing_moments


@pytest.mark.parametrize("window", [1, 2, 3, 20, 37, 64, 100])
@pytest.mark.parametrize("offset", [0.0, 1e9, -1e14])
def test_moments_are_those_of_numpy(window: int, offset: float) -> None:
    values = offset + np.random.default_rng(window).normal(0.0, max(1.0, abs(offset) * 1e-6), 300)
    moments = trailing_moments(values, window)
    windows = np.lib.stride_tricks.sliding_window_view(values, window)
    assert moments.mean.size == values.size - window + 1
    np.testing.assert_allclose(moments.mean, windows.mean(axis=1), rtol=1e-12)
    np.testing.assert_allclose(moments.std, (windows - offset).std(axis=1), rtol=1e-6, atol=1e-300)
    if window > 2:
        lines = np.polyfit(np.arange(window), (windows - offset).T, 1)
        np.testing.assert_allclose(moments.slope, lines[0], rtol=1e-5, atol=1e-6 * float(np.std(values)))
        left = (windows - offset) - (np.outer(lines[0], np.arange(window)) + lines[1][:, None])
        np.testing.assert_allclose(moments.residual_std, np.sqrt((left**2).sum(axis=1) / (window - 2)), rtol=1e-5, atol=1e-9)


def test_moments_hold_at_the_smallest_rates() -> None:
    values = 1e-21 * (1.0 + 0.1 * np.random.default_rng(0).standard_normal(200))
    brute = np.lib.stride_tricks.sliding_window_view(values, 100).std(axis=1)
    np.testing.assert_allclose(trailing_moments(values, 100).std, brute, rtol=1e-9)


def test_a_constant_has_no_spread_at_all() -> None:
    moments = trailing_moments(np.full(150, 0.1), 100)
    assert not moments.std.any()
    assert not moments.slope.any()


@given(st.integers(0, 150), st.integers(1, 149))
def test_a_window_depends_on_nothing_but_its_own_values(seed: int, cut: int) -> None:
    values = np.random.default_rng(seed).standard_cauchy(250)
    whole, part = trailing_moments(values, 100), trailing_moments(values[cut:], 100)
    for name in ("mean", "squares", "products"):
        assert np.array_equal(getattr(whole, name)[cut:], getattr(part, name))


@pytest.mark.parametrize("window", [1, 20, 32, 60, 100])
def test_windows_of_every_size_come_from_the_same_tree(window: int) -> None:
    values = np.random.default_rng(3).standard_normal(200)
    some = Pyramid(values, 100).moments(window, 7, 50)
    for ours, alone in zip(some[1:], trailing_moments(values, window)[1:], strict=True):
        assert np.array_equal(ours, alone[7:57])


def test_a_series_shorter_than_the_window_has_no_window() -> None:
    assert trailing_moments(np.arange(5.0), 100).mean.size == 0


def test_robust_scale_is_never_zero_and_not_moved_by_one_value() -> None:
    noise = np.random.default_rng(0).normal(10.0, 1.0, 1000)
    assert robust_scale(noise) == pytest.approx(1.0, rel=0.1)
    assert robust_scale(np.append(noise, 1e30)) == pytest.approx(robust_scale(noise), rel=0.02)
    assert robust_scale(np.full(50, 3.0)) == pytest.approx(0.03)
    assert robust_scale(np.zeros(50)) > 0.0
