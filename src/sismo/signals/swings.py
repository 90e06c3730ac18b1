"""The large moves of a series, small wiggles left out, and whether they come again at even periods."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from sismo.records import numeric
from sismo.records.numeric import median
from sismo.records.types import Steps
from sismo.signals.rolling import Floats

_EVEN = 0.1
"""Share by which periods may differ and still be even."""


class Swing(NamedTuple):
    """A move from the row ``start`` to the row ``end``, of ``gain`` (negative: down)."""

    start: int
    end: int
    gain: float


def swings(values: Floats, least: float, lead: int = 0) -> tuple[Swing, ...]:
    """The moves of at least ``least`` from row ``lead`` on, up and down in turn. Reversals of less are part of a move."""
    points = _turns(values[lead:]) + lead
    heights: list[float] = values[points].tolist()
    places: list[int] = points.tolist()
    pivots: list[int] = []
    low = high = direction = 0  # positions in ``places``
    for now, height in enumerate(heights):
        if direction >= 0 and height > heights[high]:
            high = now
        if direction <= 0 and height <= heights[low]:  # the end of a level stretch, where the rise begins
            low = now
        if direction >= 0 and heights[high] - height >= least:
            pivots.append(high)
            direction, low = -1, now
        elif direction <= 0 and height - heights[low] >= least:
            pivots.append(low)
            direction, high = 1, now
    if direction:
        pivots.append(high if direction > 0 else low)
    return tuple(Swing(places[start], places[end], heights[end] - heights[start]) for start, end in pairwise(pivots))


def _turns(values: Floats) -> Steps:
    """Rows at which the direction changes: both ends of a level stretch between two moves, and the first and last row."""
    moved = np.diff(values)
    moving = np.flatnonzero(moved != 0.0)
    signs = moved[moving] > 0.0
    turn = np.flatnonzero(signs[1:] != signs[:-1])
    ends = [0, values.size - 1] if not moving.size else [0, int(moving[0]), int(moving[-1]) + 1, values.size - 1]
    rows = np.concatenate([ends, moving[turn] + 1, moving[turn + 1]]).astype(np.float64)
    return numeric.distinct(rows).astype(np.int64)


def repeats(steps: Steps, values: Floats, ups: Sequence[Swing]) -> tuple[Swing, ...]:
    """Those rises that begin a cycle anew: all of them, if they come at even periods or at periods that multiply, else none.

    A single one has no period to compare; it counts if the rows after it repeat the rows from the start.
    """
    if not ups:
        return ()
    begins = np.array([int(steps[move.start]) for move in ups], dtype=np.float64)
    if len(ups) == 1:
        dropped = values[ups[0].start - 1] - values[ups[0].start] > 0.5 * ups[0].gain  # a resume that begins the schedule anew
        return tuple(ups) if not dropped and _repeats_the_start(steps, values, ups[0]) else ()
    gaps = np.diff(np.concatenate([[float(steps[0])], begins]))
    slack = float(median(np.diff(steps)))
    later = gaps[1:]
    even = bool(np.all(np.abs(later - median(later)) <= _EVEN * median(later) + slack))
    # Three at even distances are a period, whatever came before them (weights are averaged over cycles at the end of a run). Two have but
    # one distance: the first cycle has to be of its length, or longer by a warmup.
    if even and (len(ups) > 2 or 0.5 <= gaps[0] / float(median(later)) <= 1.5):
        return tuple(ups)
    ratios = gaps[1:] / gaps[:-1]
    middle = float(median(ratios))
    multiplying = middle > 1.2 and bool(np.all(np.abs(ratios - middle) <= _EVEN * middle + slack / gaps[:-1]))
    return tuple(ups) if multiplying else ()


def _repeats_the_start(steps: Steps, values: Floats, move: Swing) -> bool:
    """Whether the rows after a rise are those from the start over again, for a quarter of the cycle at least."""
    period = float(steps[move.start + 1] - steps[0])
    shared = min(period, float(steps[-1]) - float(steps[move.start + 1]))
    inside = (steps - steps[0]) < shared
    if shared < 0.25 * period or np.count_nonzero(inside) < 4:
        return False
    begun = values[inside]
    later = np.interp(steps[inside].astype(np.float64) + period, steps.astype(np.float64), values)
    peak = float(np.max(begun))
    return bool(np.ptp(begun) > 0.05 * peak) and float(np.mean(np.abs(later - begun))) <= 0.03 * peak
