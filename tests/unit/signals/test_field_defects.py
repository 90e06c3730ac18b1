"""Defects seen in other monitors, one test each: what they got wrong on the same input."""

from __future__ import annotations

import numpy as np
from unit.signals.curves import descent, spikes_of

from sismo.signals.nonfinite import spans
from sismo.signals.spikes import SpikeRule, SpikeTracker


def _norms(rows: int = 5001) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return 1.0 + 0.05 * np.random.default_rng(0).standard_normal(rows)


def test_zclip_one_nan_norm_blinds_it_for_good() -> None:
    values = _norms()
    values[0], values[5000] = np.nan, 1e6
    assert [spike.start for spike in spikes_of(values) if spike.prominence > 2.0] == [5000]


def test_olmo_stability_monitor_flags_only_the_last_of_four_spikes_after_a_nan() -> None:
    values = descent(0, 1000)
    values[500] = np.nan
    values[[510, 600, 628, 640]] = 100.0
    assert [spike.start for spike in spikes_of(values)] == [510, 600, 628, 640]
    assert [span.start for span in spans(np.arange(1000), values)] == [500]


def test_olmo_skip_step_skips_129_steps_after_one_nan_norm() -> None:
    values = _norms(1000)
    values[300] = np.nan
    tracker = SpikeTracker(SpikeRule())
    tracker.extend(np.arange(1000), values)
    assert not tracker.spikes
    assert tracker.baseline is not None
    assert np.isfinite(tracker.baseline).all()


def test_kill_loss_spike_misses_a_single_step_of_ten_times() -> None:
    values = descent(1)
    values[700] *= 10.0
    assert [(spike.start, spike.rows) for spike in spikes_of(values)] == [(700, 1)]


def test_kill_loss_spike_never_fires_on_nan_for_ever() -> None:
    values = descent(1)
    values[400:] = np.nan
    (span,) = spans(np.arange(1000), values)
    assert (span.start, span.end, span.rows, span.kind) == (400, 999, 600, "nan")


def test_kill_loss_spike_misses_a_plateau_after_one_nan() -> None:
    values = descent(2)
    values[690] = np.nan
    values[700:780] *= 3.0
    spike = spikes_of(values)[0]
    assert spike.start == 700
    assert spike.recovered is False


def test_a_decaying_norm_is_a_spike_to_a_global_median() -> None:
    values = 1.0 + 30.0 * np.exp(-np.arange(1000) / 60.0) + 0.02 * np.random.default_rng(0).standard_normal(1000)
    assert not spikes_of(values)


def test_a_falling_loss_is_a_spike_to_a_two_sided_test() -> None:
    values = descent(3)
    values[500] -= 1.5
    values[700:] -= 1.0
    assert not spikes_of(values)


def test_a_row_far_below_hides_the_spikes_after_it() -> None:
    for low in (0.0, -1e6):
        values = descent(3)
        values[690], values[700] = low, 4.0
        assert [spike.start for spike in spikes_of(values)] == [700]
