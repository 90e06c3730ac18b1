"""Levels and noise of short stretches of a series: what several detectors need to say "higher than before".

All functions take finite values only and return plain floats.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sismo.records.numeric import median
from sismo.records.types import Series
from sismo.signals.rolling import medians

UNIT = 1.0
"""Loss that is not near 0 in any unit."""
_MAD_TO_SIGMA = 1.4826


def finite(series: Series) -> Series:
    """The rows of a series with a finite value; the series itself where all are."""
    good = np.isfinite(series.values)
    return series if bool(good.all()) else Series(series.channel, series.steps[good], series.values[good], series.source_key)


def level(values: NDArray[np.float64]) -> float:
    """Median; NaN for nothing."""
    return median(values)


def part_levels(values: NDArray[np.float64], parts: int) -> NDArray[np.float64]:
    """The level of each of so many consecutive parts, whose sizes differ by one at most; NaN for a part without a row."""
    size, longer = divmod(int(values.size), parts)
    cut = longer * (size + 1)
    first, rest = values[:cut].reshape(longer, size + 1), values[cut:].reshape(parts - longer, size)
    return np.concatenate([medians(first), medians(rest) if size else np.full(parts - longer, np.nan)])


def part_ends(rows: int, parts: int) -> NDArray[np.int64]:
    """The last row of each of those parts."""
    size, longer = divmod(rows, parts)
    places = np.arange(1, parts + 1)
    return places * size + np.minimum(places, longer) - 1


def noise(values: NDArray[np.float64]) -> float:
    """Standard deviation of the row-to-row noise, from the median absolute difference of neighbours: a slow trend does not count.

    For independent Gaussian rows the difference has sqrt(2) times their deviation, hence the division. 0.0 with fewer than 3 rows.
    """
    if values.size < 3:
        return 0.0
    return median(np.abs(np.diff(values))) * _MAD_TO_SIGMA / 2**0.5


def wander(levels: NDArray[np.float64]) -> float:
    """Standard deviation of the levels of stretches that follow each other, a trend taken off; noise with a memory shows in it.

    From second differences, which have six times the variance of what they are taken of. 0.0 with fewer than 4 levels.
    """
    return median(np.abs(np.diff(levels, 2))) * _MAD_TO_SIGMA / 6**0.5 if levels.size >= 4 else 0.0


def head(series: Series, rows: int) -> NDArray[np.float64]:
    """The first rows."""
    return series.values[:rows]


def tail(series: Series, rows: int) -> NDArray[np.float64]:
    """The last rows."""
    return series.values[-rows:] if rows else series.values[:0]


def before(series: Series, step: int, rows: int) -> NDArray[np.float64]:
    """The last rows before a step, at most so many."""
    end = int(np.searchsorted(series.steps, step, side="left"))
    return series.values[max(0, end - rows) : end]


def after(series: Series, step: int, rows: int) -> NDArray[np.float64]:
    """The first rows from a step on, at most so many."""
    start = int(np.searchsorted(series.steps, step, side="left"))
    return series.values[start : start + rows]


def failure(values: NDArray[np.float64]) -> int | None:
    """Row at which a series is lost: the start of the non-finite stretch that it ends with; None where every row is finite.

    A stretch of one or two rows at the end counts as that only when there is no other before it: where non-finite rows come and go, and
    where the series ends in finite ones, it is the first non-finite row.
    """
    bad = ~np.isfinite(values)
    if not bool(bad.any()):
        return None
    good = np.nonzero(~bad)[0]
    start = int(good[-1]) + 1 if good.size else 0
    first = int(np.argmax(bad))
    return start if start < values.size and (values.size - start >= 3 or start == first) else first


def end_level(series: Series) -> float:
    """Level at the end: the median of the last tenth of the rows (3 to 50 of them)."""
    return level(tail(series, max(3, min(50, len(series) // 10))))


def start_level(series: Series) -> float:
    """Level at the start: the first row, which is what initialisation alone explains."""
    return float(series.values[0]) if len(series) else float("nan")


def peak_to_steady(series: Series, rows: int) -> tuple[float, int, float]:
    """Largest of the first rows, its index, and the level of the second half of the series as the steady state."""
    first = head(series, rows)
    index = int(np.argmax(first))
    return float(first[index]), index, level(series.values[len(series) // 2 :])
