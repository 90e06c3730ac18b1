"""Histories of a loss scale: which are a scaler at work, and which have failed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from unit.signals.curves import Floats, series

from sismo.records.types import Event
from sismo.signals.scale import ScaleHistory, describe


def _scaler(rows: int, overflows: Callable[[int], bool], *, start: float = 65536.0, window: int = 200, least: float = 0.0) -> Floats:
    scale, clean, values = start, 0, []
    for step in range(rows):
        clean = 0 if overflows(step) else clean + 1
        if not clean:
            scale = max(scale / 2, least)
        elif clean == window:
            scale, clean = scale * 2, 0
        values.append(scale)
    return np.array(values)


def _history(values: Floats, every: int = 1) -> ScaleHistory:
    found = describe(series(values, every, "loss_scale"))
    assert found is not None
    return found


def test_one_overflow_at_step_3_is_start_up() -> None:
    found = _history(_scaler(1000, lambda step: step == 3))
    assert (found.overflow_steps, found.startup_end, found.collapsed, found.halvings) == ((3,), 3, False, 1)
    assert found.late_overflow_share == 0.0


def test_the_search_from_2_to_the_32_is_start_up_dense_or_sparse() -> None:
    values = _scaler(1000, lambda step: step < 17, start=2.0**32, window=2000)
    for found in (_history(values), _history(values[::10], 10)):
        assert not found.collapsed
        assert found.startup_end is not None
        assert (found.halvings, found.longest_fall) == (16, 16)


def test_rare_overflows_between_doublings_are_healthy() -> None:
    found = _history(_scaler(2000, lambda step: step % 400 == 399))
    assert not found.collapsed
    assert found.late_overflow_share < 0.01
    assert found.halvings == found.doublings == 5


def test_a_fall_at_the_end_is_a_collapse_even_at_a_minimum() -> None:
    assert _history(_scaler(1000, lambda step: step >= 980)).collapsed
    assert _history(_scaler(1000, lambda step: step >= 980)).frozen_since == 980
    assert _history(_scaler(1000, lambda step: step >= 500, least=1.0)).collapsed
    assert _history(_scaler(1000, lambda step: step >= 500, least=128.0)).collapsed


def test_a_constant_scale_is_off_and_a_placeholder_is_no_scale() -> None:
    assert _history(np.full(100, 1024.0)).constant
    assert not _history(np.full(100, 1024.0)).placeholder
    for value in (-1.0, 0.0, 1.0):
        found = _history(np.full(100, value))
        assert found.placeholder
        assert not found.collapsed


def test_messages_alone_tell_the_scale() -> None:
    told = [Event(step, "overflow", {"scale_before": 65536.0 / 2**step, "scale_after": 32768.0 / 2**step}) for step in range(12)]
    every = describe(None, told, first_step=0, last_step=11)
    assert every is not None
    assert every.skipped_from_start
    assert (every.first, every.last, every.overflow_share) == (65536.0, 16.0, 1.0)
    some = describe(None, told[:4], first_step=0, last_step=500)
    assert some is not None
    assert (some.skipped_from_start, some.startup_end, some.collapsed) == (False, 3, False)
    bare = describe(None, [Event(3, "overflow")], first_step=0, last_step=99)
    assert bare is not None
    assert (bare.first, bare.overflow_share) == (None, 0.01)


def test_a_count_of_skipped_steps_is_enough() -> None:
    found = describe(None, (), series(np.full(10, 10.0), 10, "skipped"), first_step=0, last_step=90)
    assert found is not None
    assert found.skipped_from_start
    assert found.frozen_since == 0


def test_nothing_known_is_none_and_nan_is_no_scale() -> None:
    assert describe(None) is None
    assert describe(series(np.full(5, np.nan))) is None
    assert _history(np.array([65536.0, np.nan, 65536.0])).constant
