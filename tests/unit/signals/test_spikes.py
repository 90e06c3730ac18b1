"""What is a spike, what is none, and how it ends."""

from __future__ import annotations

import numpy as np
import pytest
from unit.signals.curves import autoregressive, descent, series, spikes_of

from sismo.signals.spikes import SpikeRule, SpikeTracker


@pytest.mark.parametrize("seed", range(20))
def test_a_single_high_row_is_one_spike_that_recovers(seed: int) -> None:
    values = descent(seed)
    values[600] += 1.0
    (spike,) = spikes_of(values)
    assert (spike.start, spike.end, spike.peak_step, spike.rows) == (600, 600, 600, 1)
    assert spike.peak == values[600]
    assert spike.recovered is True
    assert spike.recovered_at is not None
    assert 600 < spike.recovered_at <= 610
    assert spike.before == pytest.approx(2.09, abs=0.1)
    assert spike.scale == pytest.approx(0.05, rel=0.4)
    assert spike.prominence > 2.0


@pytest.mark.parametrize("row", [3, 8, 17])
@pytest.mark.parametrize("seed", range(5))
def test_a_lone_row_among_the_first_twenty_is_a_spike(row: int, seed: int) -> None:
    """Nothing is there yet to make a baseline of; the rows on both sides are."""
    values = 2.0 + 2.0 / (1 + np.arange(200) / 10) + 0.02 * np.random.default_rng(seed).standard_normal(200)
    assert spikes_of(values) == ()
    values[row] *= 2.0
    (spike,) = spikes_of(values)
    assert (spike.start, spike.end, spike.rows, spike.recovered, spike.recovered_at) == (row, row, 1, True, row + 1)
    assert spike.prominence > 2.0


def test_three_rows_among_the_first_are_one_spike_and_four_are_a_level() -> None:
    values = 2.0 + 0.02 * np.random.default_rng(0).standard_normal(200)
    values[8:11] = 5.0
    (spike,) = spikes_of(values)
    assert (spike.start, spike.end, spike.rows) == (8, 10, 3)
    values[11] = 5.0
    assert spikes_of(values) == ()


@pytest.mark.parametrize("seed", range(20))
def test_a_level_that_stays_is_persistent_and_becomes_the_baseline(seed: int) -> None:
    values = descent(seed)
    values[600:] += 1.0
    values[800] += 1.0
    first, second = spikes_of(values)
    assert first.start == 600
    assert first.recovered is False
    assert first.recovered_at is None
    assert second.start == 800
    assert second.before == pytest.approx(3.05, abs=0.1)
    assert second.recovered is True


@pytest.mark.parametrize("seed", range(20))
def test_a_small_level_that_stays_after_a_high_row_is_persistent(seed: int) -> None:
    values = descent(seed)
    values[600] += 1.0
    values[601:] += 0.15
    assert spikes_of(values)[0].recovered is False


@pytest.mark.parametrize("seed", range(20))
def test_a_decay_over_thirty_rows_is_a_recovery(seed: int) -> None:
    values = descent(seed)
    values[600:640] += np.exp(-np.arange(40) / 10.0)
    spike = spikes_of(values)[0]
    assert spike.recovered is True
    assert spike.recovered_at is not None
    assert 615 <= spike.recovered_at <= 650


def test_the_end_of_the_log_leaves_recovery_open() -> None:
    values = descent(1, 620)
    values[610:] += 1.0
    (spike,) = spikes_of(values)
    assert spike.recovered is None


def test_a_spike_in_a_steep_early_descent_is_seen() -> None:
    values = 2.0 + 8.0 * np.exp(-np.arange(400) / 30.0) + 0.02 * np.random.default_rng(0).standard_normal(400)
    assert not spikes_of(values)
    values[60] += 0.8
    assert [spike.start for spike in spikes_of(values)] == [60]


def test_two_rows_in_a_row_confirm_what_neither_would_alone() -> None:
    values = 2.0 + 0.05 * np.random.default_rng(2).standard_normal(400)
    values[300] = 10.0
    (alone,) = spikes_of(values)
    values[300] = alone.before + 4.5 * alone.scale
    assert not spikes_of(values)
    values[301] = values[300]
    assert [(spike.start, spike.rows) for spike in spikes_of(values)] == [(300, 2)]
    assert not spikes_of(values, SpikeRule(two_in_a_row=False))


@pytest.mark.parametrize("size", [1e-12, 1.0, 3e6, 1e12])
def test_the_unit_does_not_matter(size: float) -> None:
    values = size * np.exp(0.15 * np.random.default_rng(5).standard_normal(1000))
    values[700] = 12.0 * size
    found = [spike.start for spike in spikes_of(values) if spike.prominence > 2.0]
    # Under the absolute floor of 1e-8 nothing counts as a difference.
    assert found == ([700] if size > 1e-8 else [])


def test_a_spike_from_a_constant_is_seen() -> None:
    for level in (0.0, 2.0, -3.0):
        values = np.full(300, level)
        assert not spikes_of(values)
        values[200] += 1.0
        assert [spike.start for spike in spikes_of(values)] == [200]


def test_values_of_one_decimal_are_noise_up_to_three_units_and_a_spike_beyond() -> None:
    values = np.round(2.0 + 0.03 * np.random.default_rng(1).standard_normal(1000), 1)
    values[500] = 2.3
    assert not spikes_of(values)
    values[500] = 3.0
    assert [spike.start for spike in spikes_of(values)] == [500]


def test_a_negative_loss_spikes_upwards_only() -> None:
    values = -5.0 + 0.1 * autoregressive(0, 1000, 0.5)
    values[400] -= 3.0
    assert not spikes_of(values)
    values[700] += 3.0
    assert [spike.start for spike in spikes_of(values)] == [700]


def test_a_huge_spike_does_not_hide_the_next() -> None:
    values = descent(4)
    values[500], values[520], values[560] = 1e12, 4.0, 4.0
    assert [spike.start for spike in spikes_of(values)] == [500, 520, 560]


def test_to_the_letter_every_row_over_three_sigma_is_a_spike_after_a_hundred() -> None:
    rule = SpikeRule(confirm=False)
    values = 2.0 + 0.05 * np.random.default_rng(8).standard_normal(5000)
    values[50] = 5.0
    found = spikes_of(values, rule)
    assert all(spike.start >= 100 for spike in found)
    assert 2 <= len(found) <= 25  # a Gaussian has 1.35 in 1,000 over 3 sigma
    for spike in found:
        assert spike.z > 3.0
        assert spike.recovered is True


def test_baseline_is_the_mean_and_the_scale_of_now() -> None:
    tracker = SpikeTracker(SpikeRule())
    assert tracker.baseline is None
    values = descent(0, 2000)
    tracker.extend(np.arange(2000), values)
    assert tracker.baseline is not None
    mean, scale = tracker.baseline
    assert mean == pytest.approx(float(values[-100:].mean()))
    assert scale == pytest.approx(0.05, rel=0.3)


def test_results_are_plain_numbers() -> None:
    values = descent(0)
    values[500] += 2.0
    (spike,) = spikes_of(values)
    for name, kinds in {
        "start": int,
        "peak_step": int,
        "rows": int,
        "recovered_at": int,
        "peak": float,
        "z": float,
        "prominence": float,
    }.items():
        assert type(getattr(spike, name)) is kinds, name
    assert len(series(values)) == 1000
