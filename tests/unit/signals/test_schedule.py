"""The shapes that schedules have, healthy and broken, dense, sparse, stepped by epoch and rounded."""

from __future__ import annotations

import numpy as np
import pytest
from unit.signals.curves import Floats, series

from sismo.signals.schedule import Schedule, describe

_ROWS = 2000
_TIME = np.arange(_ROWS)
_PEAK = 3e-4


def _cosine(time: Floats, span: float) -> Floats:
    return _PEAK * 0.5 * (1.0 + np.cos(np.pi * np.minimum(time, span) / span))


def _warm() -> Floats:
    return np.where(_TIME < 100, _PEAK * (_TIME + 1) / 100, _cosine(_TIME - 100.0, _ROWS - 100))


def _shape(values: Floats, every: int = 1) -> Schedule:
    found = describe(series(values, every, "lr/0"))
    assert found is not None
    return found


HEALTHY = {
    "cosine": _cosine(_TIME * 1.0, _ROWS),
    "warmup and cosine": _warm(),
    "warmup and cosine, one row in 100": _warm()[::100],
    "warmup and cosine, one row in 500": _warm()[::500],
    "linear to 0": _PEAK * (1.0 - _TIME / _ROWS),
    "constant": np.full(_ROWS, _PEAK),
    "warmup to a constant": np.minimum(_PEAK, _PEAK * (_TIME + 1) / 100),
    "inverse square root": _PEAK * np.minimum((_TIME + 1) / 100, (100 / (_TIME + 1)) ** 0.5),
    "step decay by 10": _PEAK * 10.0 ** -(_TIME // 600),
    "step decay by 2": _PEAK * 0.5 ** (_TIME // 500),
    "reduce on plateau": _PEAK * np.select([_TIME < 400, _TIME < 1100, _TIME < 1500], [1.0, 0.5, 0.1], 0.01),
    "exponential, by epoch": _PEAK * 0.97 ** (_TIME // 40),
    "cosine, by epoch": _cosine(_TIME // 50 * 50.0, _ROWS),
    "warmup by epoch": _PEAK * np.minimum(1.0, (_TIME // 100 + 1) / 5),
    "cosine printed with 4 decimals": np.round(_cosine(_TIME * 1.0, _ROWS), 4),
    "warm restarts": _cosine(_TIME % 500 * 1.0, 500),
    "warm restarts that double": np.concatenate([_cosine(np.arange(span) * 1.0, span) for span in (140, 280, 560, 1120)]),
    "one warm restart": _cosine(_TIME % 1000 * 1.0, 1000),
    "restarts with warmup": np.where(_TIME % 500 < 50, _PEAK * (_TIME % 500 + 1) / 50, _cosine(_TIME % 500 - 50.0, 450)),
    "triangular": _PEAK * (0.1 + 0.9 * np.abs(1.0 - (_TIME % 400) / 200.0)),
    "one cycle": np.where(_TIME < 600, _PEAK * (0.52 - 0.48 * np.cos(np.pi * _TIME / 600)), _cosine(_TIME - 600.0, _ROWS - 600)),
    "warmup, stable, decay": _PEAK * np.clip(np.minimum((_TIME + 1) / 100, (_ROWS - _TIME) / 300), 0.0, 1.0),
}


@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_schedule_neither_jumps_nor_rises(name: str) -> None:
    found = _shape(HEALTHY[name])
    assert not found.jumps
    assert found.rises_after_peak is None
    assert not found.only_rises


def test_warmup_ends_at_its_summit() -> None:
    assert _shape(_warm()).warmup_end == 99
    assert _shape(_warm()[::100], 100).warmup_end == 100
    assert _shape(HEALTHY["cosine"]).warmup_end is None
    assert _shape(HEALTHY["cosine"]).starts_high
    assert not _shape(_warm()).starts_high


def test_restarts_are_told_by_their_period() -> None:
    assert _shape(HEALTHY["warm restarts"]).restarts == (500, 1000, 1500)
    assert _shape(HEALTHY["warm restarts that double"]).restarts == (140, 420, 980)
    assert _shape(HEALTHY["one warm restart"]).restarts == (1000,)
    assert _shape(HEALTHY["restarts with warmup"]).restarts == (500, 1000, 1500)


def test_levels() -> None:
    assert _shape(HEALTHY["reduce on plateau"]).decays == (400, 1100, 1500)
    assert _shape(HEALTHY["cosine, by epoch"]).staircase
    assert not _shape(_warm()).staircase
    rounded = _shape(HEALTHY["cosine printed with 4 decimals"])
    assert rounded.rounded
    assert rounded.zero_from is not None
    assert not _shape(HEALTHY["linear to 0"]).rounded
    assert _shape(np.maximum(0.1 * _PEAK, _PEAK * (1.0 - _TIME / 700))).floor_from == 630


def test_constants() -> None:
    assert _shape(HEALTHY["constant"]).constant
    zero = _shape(np.zeros(50))
    assert zero.constant
    assert zero.all_zero
    assert (zero.zero_share, zero.zero_from, zero.distinct) == (1.0, 0, 1)
    assert not _shape(HEALTHY["constant"]).all_zero


@pytest.mark.parametrize(
    ("values", "jumps"),
    [
        (np.where(_TIME < 1000, _PEAK, 10 * _PEAK), [(1000, "up")]),
        (np.where(_TIME >= 1000, 1.06 * _PEAK, _PEAK), [(1000, "up")]),
        (np.where(_TIME >= 1200, 3.0, 1.0) * _warm(), [(1200, "up")]),
        (np.where(_TIME == 1000, 3.0, 1.0) * _warm(), [(1000, "up"), (1001, "down")]),
    ],
)
def test_a_jump_is_where_the_slope_does_not_lead(values: Floats, jumps: list[tuple[int, str]]) -> None:
    found = _shape(values)
    assert [(jump.step, jump.kind) for jump in found.jumps] == jumps
    assert found.rises_after_peak is None


def test_rises_where_it_should_fall() -> None:
    assert _shape(_PEAK * 0.5 * (1.0 - np.cos(np.pi * _TIME / _ROWS))).only_rises
    never = _shape(_PEAK * (_TIME + 1.0) / _ROWS)
    assert never.only_rises
    assert never.warmup_end is None
    rise = _shape(_PEAK * 0.5 * (1.0 + np.cos(2.0 * np.pi * _TIME / _ROWS))).rises_after_peak
    assert rise is not None
    assert (rise.start, rise.end) == (1000, 1999)


def test_a_schedule_that_begins_anew_after_a_resume_is_no_restart() -> None:
    values = np.where(_TIME < 1000, _warm(), np.where(_TIME < 1100, _PEAK * (_TIME - 999.0) / 100, _cosine(_TIME - 1100.0, _ROWS)))
    found = _shape(values)
    assert not found.restarts
    assert [(jump.step, jump.kind) for jump in found.jumps] == [(1000, "down")]
    assert found.rises_after_peak is not None


def test_a_few_rows() -> None:
    assert describe(series(np.array([1e-3]))) is None
    assert describe(series(np.full(9, np.nan))) is None
    two = _shape(np.array([1e-3, 9e-4]))
    assert (two.first, two.final, two.jumps) == (1e-3, 9e-4, ())
    assert _shape(np.array([0.0, 1e-3, 9e-4])).warmup_end == 1
