"""Fewer rows, the same picture: spikes, losses and flagged stretches survive."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sismo.dashboard.sampling import AROUND, overview, thinned, windows
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


def test_the_steps_around_a_flagged_one_are_whole() -> None:
    series = Series("loss/train", np.arange(200_000), noise(200_000))
    kept, left = windows([5_000, 100_000, 100_300], [series], 10_000)
    assert left == 0
    steps = set(thinned(series, 100, kept).steps.tolist())
    for step in (5_000, 100_000, 100_300):
        assert set(range(step - AROUND, step + AROUND + 1)) <= steps


def test_the_first_flagged_steps_win_when_the_budget_ends() -> None:
    series = Series("loss/train", np.arange(1_000_000), noise(1_000_000))
    kept, left = windows(range(900_000, 0, -10_000), [series], 5_500)
    assert [(low + high) // 2 for low, high in kept] == [860_000, 870_000, 880_000, 890_000, 900_000]
    assert left > 0


@pytest.mark.parametrize("count", [0, 1, 2, 3, 7])
def test_short_series_stay_whole(count: int) -> None:
    assert overview(noise(count), 4).size == count
