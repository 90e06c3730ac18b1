"""The shape of a learning-rate series, in the terms that a schedule is written in.

A schedule is piecewise smooth, and logs blur it: one row in 500 steps makes a smooth decay look like steps, four printed decimals make it a
staircase, and a scheduler that is stepped once an epoch is one. So a change counts as a jump only against the slope on either side of it,
after plateaus of equal length and the grid of the printed digits have been taken out, and a rise only if it is not a restart that
repeats. Levels: one row over 5 %, a sustained rise over 0.2 of the peak, a start over half of it (docs/measured.md).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sismo.records import numeric
from sismo.records.numeric import median
from sismo.records.types import Series, Steps
from sismo.signals.levels import finite
from sismo.signals.rolling import Floats
from sismo.signals.swings import Swing, repeats, swings

_SAME = 1e-6
"""Share of the peak under which two rates are the same number."""
_STEEPER = 3.0
"""A jump is so many times what the slope of its neighbours explains."""
_VISIBLE = 0.005
"""Share of the peak that a jump must have, whatever it is relative to a rate near 0."""
_COARSE = 200
"""Units of the last printed digit in the peak; with more, rounding hides no rate that matters."""
_FINE = 1e-3
"""Share of the peak under which a stair may be a unit of the last printed digit: three digits are the fewest that a rate has."""
_FEW = 5
"""Rows under which no slope can be told from a jump."""
_RESTLESS = 20
"""Rises without a period after which the rate is no schedule but follows a measurement."""
_JITTER = 0.05
"""Share of rows that jump over which the rate is restless by design (it follows a measurement), and up and down are neighbours."""


class Jump(NamedTuple):
    """A change from one row to the next that the slope around it does not explain. ``step`` is the row after it; ``kind`` is up or down."""

    step: int
    before: float
    after: float
    kind: str


class Rise(NamedTuple):
    """A sustained rise: from ``before`` at ``start`` to ``after`` at ``end``."""

    start: int
    end: int
    before: float
    after: float


class Schedule(NamedTuple):
    """What a learning-rate series did.

    Attributes:
        first, final: first and last rate. peak, peak_step: the highest, and the first step at it.
        constant: one value on all rows. all_zero: that value is 0. zero_share: share of rows at 0.
        zero_from: step from which it is 0 for good. floor_from: likewise at its lowest value, on two rows at least.
        starts_high: first rate over half of the peak.
        warmup_end: step at which a rise from under half of it reached the first summit; None without one, and while it still rises.
        only_rises: it never falls, and still rises in the last tenth of the log.
        rises_after_peak: the largest sustained rise of over 0.2 of the peak after it had fallen; neither a restart nor a jump.
        jumps: discontinuities, ``up`` or ``down``. decays: steps at which one level gave way to a lower one, as step decay does.
        restarts: steps at which a cycle begins again: two or more at even or multiplying periods, or one that repeats the first cycle.
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
    decays: tuple[int, ...]
    restarts: tuple[int, ...]
    staircase: bool
    rounded: bool
    distinct: int
    rows: int
    start: int
    end: int


def describe(series: Series, jump: float = 0.05, rise: float = 0.2) -> Schedule | None:
    """The shape of a learning-rate series; None with fewer than 2 finite rows.

    ``jump``: least change in one row that may be a jump, relative to the larger of the two. ``rise``: least sustained rise, as a share of
    the peak.
    """
    clean = finite(series)
    if len(clean) < 2:
        return None
    steps, values = clean.steps, clean.values
    distinct = numeric.distinct(values)
    peak = float(np.max(values))
    same = _SAME * max(abs(peak), 1e-300)
    top = int(np.argmax(values >= peak - same))
    constant = bool(np.all(np.abs(values - values[0]) <= same))
    grid = _grid(values, distinct, peak)
    changes = np.flatnonzero(np.abs(np.diff(values)) > same)
    staircase = not grid and _is_staircase(steps, changes, np.abs(np.diff(values))[changes], peak)
    # Some loops log the base rate once before the scheduler first runs: the shape begins after that row.
    lead = 1 if len(clean) > 2 and values[0] > 2.0 * values[1] else 0
    moves = swings(values, max(rise * peak, 2.0 * grid), lead) if peak > 0.0 and not constant else ()
    warmup = moves[0] if moves and _is_warmup(moves[0], values, lead) else None
    ups = [move for move in moves if move.gain > 0.0 and move is not warmup and move.start > lead]
    again = repeats(steps, values, ups)
    if len(ups) > _RESTLESS and not again:
        ups = []
    restarts = tuple(int(steps[move.start + 1]) for move in again)
    jumps, decays = _jumps(steps, values, changes if staircase else None, jump, grid, peak)
    later = [move for move in ups if move not in again and not _in_one_row(values, move) and _had_fallen(values, move, lead, same)]
    sustained = [_rise(steps, values, move) for move in later]
    return Schedule(
        first=float(values[0]),
        final=float(values[-1]),
        peak=peak,
        peak_step=int(steps[top]),
        constant=constant,
        all_zero=bool(np.all(values == 0.0)),
        zero_share=int(np.count_nonzero(values == 0.0)) / len(clean),
        zero_from=_for_good(clean, 0.0, 0.0, 1),
        floor_from=None if constant else _for_good(clean, float(distinct[0]), same, 2),
        starts_high=bool(values[0] > 0.5 * peak),
        warmup_end=_end_of(warmup, steps, values, same),
        only_rises=_only_rises(values, same),
        rises_after_peak=max(sustained, key=lambda found: found.after - found.before, default=None),
        jumps=tuple(found for found in jumps if found.step not in restarts),
        decays=decays,
        restarts=restarts,
        staircase=staircase,
        rounded=grid > 0.0,
        distinct=int(distinct.size),
        rows=len(clean),
        start=int(steps[0]),
        end=int(steps[-1]),
    )


def _for_good(series: Series, level: float, same: float, least: int) -> int | None:
    """Step from which the series stays at a level to its end, on ``least`` rows or more."""
    away = np.flatnonzero(np.abs(series.values - level) > same)
    first = int(away[-1]) + 1 if away.size else 0
    return int(series.steps[first]) if first <= len(series) - least else None


def _is_warmup(move: Swing, values: Floats, lead: int) -> bool:
    """Whether the first move is a rise from under half of its summit that the log begins with; one later row alone is a jump."""
    begins = move.start <= lead or (move.start - lead <= move.end - move.start and not _in_one_row(values, move))
    return move.gain > 0.0 and bool(values[lead] < 0.5 * values[move.end]) and begins


def _had_fallen(values: Floats, move: Swing, lead: int, same: float) -> bool:
    """Whether the rate was higher before a rise than where that begins; a log that starts within the warmup has a rise only."""
    return bool(np.max(values[lead : move.start + 1]) > values[move.start] + same)


def _only_rises(values: Floats, same: float) -> bool:
    """Never falls, and still rises in the last tenth: a warmup to a constant rate is no such thing."""
    before = values[-1 - max(1, values.size // 10)]
    return bool(np.all(np.diff(values) >= -same)) and bool(values[-1] > before + same)


def _grid(values: Floats, distinct: Floats, peak: float) -> float:
    """The unit of the last printed digit where the log has few digits and the rate moves along them; 0 where it has many.

    The unit is a power of ten, and most changes are of one unit: so a decay by 10 at milestones is no grid.
    """
    if distinct.size < (2 if distinct[0] == 0.0 else 3) or peak <= 0.0 or distinct.size > _COARSE:
        return 0.0
    unit = 10.0 ** math.floor(math.log10(float(np.diff(distinct).min())) + 1e-6)
    if unit == 0.0:  # denormal rates
        return 0.0
    scaled = distinct / unit
    if peak / unit > _COARSE or not bool(np.all(np.abs(scaled - np.round(scaled)) < 1e-3)):
        return 0.0
    moves = np.abs(np.diff(values))
    moves = moves[moves > 0.5 * unit]
    return unit if median(moves) < 1.5 * unit else 0.0


def _is_staircase(steps: Steps, changes: Steps, heights: Floats, peak: float) -> bool:
    """Whether the changes come at even distances with level rows between: three changes at least, all but one in ten in time."""
    if changes.size < 3 or steps.size < 2 * changes.size or _is_last_digit(median(heights), peak):
        return False
    gaps = np.diff(steps[changes + 1])
    middle = float(median(gaps))
    off = np.abs(gaps - middle) > max(0.02 * middle, float(median(np.diff(steps))))
    return bool(np.count_nonzero(off) <= 0.1 * gaps.size) and middle >= 2.0 * float(median(np.diff(steps)))


def _is_last_digit(height: float, peak: float) -> bool:
    """Whether a stair is what printing with so many digits makes of a smooth decay: small, and a power of ten."""
    return height < _FINE * peak and abs(math.log10(height) - round(math.log10(height))) < 0.01


def _jumps(steps: Steps, values: Floats, stairs: Steps | None, jump: float, grid: float, peak: float) -> tuple[list[Jump], tuple[int, ...]]:
    """The jumps, and the steps at which a level gave way to a lower level."""
    if stairs is not None:  # one row per stair: what was a staircase is a slope
        keep = np.concatenate([np.zeros(1, dtype=np.int64), stairs + 1])
        steps, values = steps[keep], values[keep]
    if values.size < _FEW:
        return [], ()
    moved = np.diff(values)
    span = np.diff(steps).astype(np.float64)
    size = np.abs(moved)
    larger = np.maximum(np.abs(values[:-1]), np.abs(values[1:]))
    far = np.flatnonzero((size - 1.5 * grid > jump * larger) & (size > _VISIBLE * peak))
    rate = moved / span
    up, down = _beside(np.maximum(rate, 0.0), far), _beside(np.maximum(-rate, 0.0), far)
    moved, span, size = moved[far], span[far], size[far]
    found = size > _STEEPER * span * np.where(moved > 0.0, up, down)
    if np.count_nonzero(found) > max(20.0, _JITTER * rate.size):
        found = size > _STEEPER * span * np.maximum(up, down)
    level = np.maximum(up, down) * span <= 0.005 * size
    jumps: list[Jump] = []
    decays: list[int] = []
    for place, falls, still in zip(far[found].tolist(), (moved < 0.0)[found].tolist(), level[found].tolist(), strict=True):
        if falls and (still or stairs is not None) and values[place + 1] > 0.0:
            decays.append(int(steps[place + 1]))
        elif place or falls:  # a rise between the first two rows is a warmup that was shorter than that
            kind = "down" if falls else "up"
            jumps.append(Jump(int(steps[place + 1]), float(values[place]), float(values[place + 1]), kind))
    return jumps, tuple(decays)


def _beside(rate: Floats, places: Steps) -> Floats:
    """The largest of the two rates before and the two after each of the places; 0 stands for what is not there."""
    padded = np.concatenate([np.zeros(2), rate, np.zeros(2)])
    return np.max([padded[places + offset] for offset in (0, 1, 3, 4)], axis=0)


def _in_one_row(values: Floats, move: Swing) -> bool:
    """Whether a rise is the work of a single row, so that it is a jump."""
    return bool(np.max(np.diff(values[move.start : move.end + 1])) > 0.8 * move.gain)


def _rise(steps: Steps, values: Floats, move: Swing) -> Rise:
    return Rise(int(steps[move.start]), int(steps[move.end]), float(values[move.start]), float(values[move.end]))


def _end_of(warmup: Swing | None, steps: Steps, values: Floats, same: float) -> int | None:
    """The step at which a warmup reached its summit, unless the log ends while it rises."""
    if warmup is None:
        return None
    summit = warmup.start + int(np.argmax(values[warmup.start : warmup.end + 1] >= values[warmup.end] - same))
    return int(steps[summit]) if summit < values.size - 1 else None
