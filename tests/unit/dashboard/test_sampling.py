"""Fewer rows, the same picture: spikes, losses and flagged stretches survive."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sismo.dashboard.sampling import AROUND, Flag, buckets, overview, spans, thinned, whole
from sismo.records.types import Series


def noise(count: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(count)


@settings(max_examples=40, deadline=None)
@given(at=st.integers(0, 99_999), height=st.sampled_from([50.0, -50.0, np.nan, np.inf, -np.inf]))
def test_a_spike_of_one_step_anywhere_is_kept(at: int, height: float) -> None:
    values = noise(100_000)
    values[at] = height
    assert at in overview(values, 300)


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True, width=64), max_size=300), st.integers(1, 40))
def test_the_outline_holds_what_the_whole_holds(values: list[float], buckets: int) -> None:
    array = np.array(values, dtype=np.float64)
    kept = overview(array, buckets)
    assert bool(np.all(np.diff(kept) > 0))
    finite = array[np.isfinite(array)]
    if finite.size:
        assert array[kept][np.isfinite(array[kept])].max() == finite.max()
        assert array[kept][np.isfinite(array[kept])].min() == finite.min()
    if array.size:
        assert kept[0] == 0
        assert kept[-1] == array.size - 1
        assert bool(np.isfinite(array).all()) == bool(np.isfinite(array[kept]).all())


def test_all_lost_is_kept_as_lost() -> None:
    assert bool(np.isnan(np.full(10_000, np.nan)[overview(np.full(10_000, np.nan), 50)]).all())


def long(channel: str, rows: int = 200_000) -> Series:
    return Series(channel, np.arange(rows), noise(rows))


def covered(series: Series, centres: np.ndarray, step: int) -> bool:
    return set(range(step - AROUND, step + AROUND + 1)) <= set(thinned(series, 100, centres).steps.tolist())


def test_the_steps_around_a_flagged_one_are_whole() -> None:
    series = long("loss/train")
    found = whole([Flag(5_000), Flag(100_000), Flag(100_300)], [series], 10_000)
    assert (found.everywhere, found.partly, found.left) == ([5_000, 100_000, 100_300], 0, 0)
    assert all(covered(series, found.centres[0], step) for step in (5_000, 100_000, 100_300))


def test_what_a_flag_is_about_is_whole_before_everything_else_is() -> None:
    layers = [long(f"act_mean_abs/{layer}") for layer in range(20)]
    series = [long("loss/train"), *layers]
    steps = range(10_000, 190_000, 10_000)
    found = whole([Flag(step, "act_mean_abs/7") for step in steps], series, 80_000)
    assert found.left == 0
    assert found.everywhere == [10_000, 20_000]
    assert found.partly == len(steps) - 2
    assert all(covered(series[place], found.centres[place], step) for place in (0, 8) for step in steps)
    assert not covered(layers[0], found.centres[1], 150_000)


def test_windows_that_overlap_cost_their_rows_once() -> None:
    found = whole([Flag(step) for step in range(10_000, 12_000, 10)], [long("loss/train")], 3_100)
    assert (len(found.everywhere), found.left) == (200, 0)
    assert spans(found.everywhere) == [(9_500, 12_490)]


def test_the_first_flagged_steps_win_when_the_budget_ends() -> None:
    found = whole([Flag(step) for step in range(900_000, 0, -10_000)], [long("loss/train", 1_000_000)], 5_500)
    assert found.everywhere == [860_000, 870_000, 880_000, 890_000, 900_000]
    assert (found.partly, found.left) == (0, 85)


def test_a_hundred_thousand_flags_do_not_cost_seconds() -> None:
    found = whole((Flag(step, "loss_scale") for step in range(100_000)), [long("loss/train")], 700_000)
    assert len(found.everywhere) + found.left == 100_000


def test_what_fits_the_budget_is_not_thinned() -> None:
    short, long_ones = [long(f"a/{place}", 50) for place in range(40)], [long(f"b/{place}", 20_000) for place in range(4)]
    assert 2 * buckets(short + long_ones, 90_000) >= 20_000
    rough = buckets(short + long_ones, 42_000)
    assert all(len(thinned(one, rough, np.zeros(0, np.int64))) == 50 for one in short)
    assert 30_000 <= sum(len(thinned(one, rough, np.zeros(0, np.int64))) for one in long_ones) <= 42_000


@pytest.mark.parametrize("count", [0, 1, 2, 3, 7])
def test_short_series_stay_whole(count: int) -> None:
    assert overview(noise(count), 4).size == count
