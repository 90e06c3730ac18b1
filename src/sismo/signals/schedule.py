"""The shape of a learning-rate series, in the terms that a schedule is written in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sismo.records.types import Series
from sismo.signals.rolling import Floats
from sismo.signals.trend import finite

_SAME = 1e-6
"""Share of the peak under which two rates are the same number."""


@dataclass(frozen=True, slots=True)
class Jump:
    """A change from one row to the next that the slope around it does not explain. ``step`` is the row after it; ``kind`` is up or down."""

    step: int
    before: float
    after: float
    kind: str


@dataclass(frozen=True, slots=True)
class Rise:
    """A sustained rise: from ``before`` at ``start`` to ``after`` at ``end``."""

    start: int
    end: int
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class Schedule:
    """What a learning-rate series did.

    Attributes:
        first, final: first and last rate. peak, peak_step: the highest, and the first step at it.
        constant: one value on all rows. all_zero: that value is 0. zero_share: share of rows at 0.
        zero_from: step from which it is 0 for good. floor_from: step from which it stays at its lowest value for good.
        starts_high: first rate over half of the peak.
        warmup_end: step at which a rise from under half of the peak reached it; None without one.
        only_rises: it never falls in the whole log, and is not constant.
        rises_after_peak: a sustained rise of over 0.2 of the peak after it had fallen; None without one. Restarts and jumps are not in it.
        jumps: discontinuities. restarts: steps of warm restarts, at even periods.
        staircase: level for stretches of equal length. rounded: logged with so few digits that a 0 may be a small rate.
        distinct: how many different values. rows: finite rows. start, end: first and last step.
    """

    first: float
    final: float
    peak: float
    peak_step: int
    constant: bool
    all_zero: bool
    zero_share: float
    zero_from: int | None
    floor_from: int | None
    starts_high: bool
    warmup_end: int | None
    only_rises: bool
    rises_after_peak: Rise | None
    jumps: tuple[Jump, ...]
    restarts: tuple[int, ...]
    staircase: bool
    rounded: bool
    distinct: int
    rows: int
    start: int
    end: int


def describe(series: Series, jump: float = 0.05, rise: float = 0.2) -> Schedule | None:
    """The shape of a learning-rate series; None with fewer than 2 finite rows.

    ``jump``: least change in one row that may be a jump, as a share of the peak. ``rise``: least sustained rise, likewise.
    """
    clean = finite(series)
    if len(clean) < 2:
        return None
    steps, values = clean.steps, clean.values
    peak = float(np.max(values))
    same = _SAME * max(abs(peak), 1e-300)
    top = int(np.argmax(values >= peak - same))
    delta = np.diff(values)
    constant = bool(np.all(np.abs(values - values[0]) <= same))
    return Schedule(
        first=float(values[0]),
        final=float(values[-1]),
        peak=peak,
        peak_step=int(steps[top]),
        constant=constant,
        all_zero=bool(np.all(values == 0.0)),
        zero_share=float(np.mean(values == 0.0)),
        zero_from=_for_good(clean, 0.0, 0.0),
        floor_from=None if constant else _for_good(clean, float(np.min(values)), same),
        starts_high=bool(values[0] > 0.5 * peak),
        warmup_end=int(steps[top]) if top and values[0] < 0.5 * peak else None,
        only_rises=not constant and bool(np.all(delta >= -same)),
        rises_after_peak=None,
        jumps=(),
        restarts=(),
        staircase=False,
        rounded=False,
        distinct=int(np.unique(values).size),
        rows=len(clean),
        start=int(steps[0]),
        end=int(steps[-1]),
    )


def _for_good(series: Series, level: float, same: float) -> int | None:
    away = np.flatnonzero(np.abs(series.values - level) > same)
    first = int(away[-1]) + 1 if away.size else 0
    return int(series.steps[first]) if first < len(series) else None


def _unused(values: Floats) -> Floats:
    return values
