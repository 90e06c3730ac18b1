"""Whether a series rises or falls, in the noise that it has.

A trend is tested with Mann-Kendall and measured with Theil-Sen, both on block means, so that neither outliers nor the noise from row to row
decides (measured: "200 strictly rising steps" never fires, the longest streak in any run was 9; 20 block means of 10 steps work).
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sismo.records.numeric import median
from sismo.records.types import Series
from sismo.signals.levels import finite
from sismo.signals.rolling import Floats

_LEAST = 8
"""Points below which no trend is claimed: with 8, z passes 1.96 for a nearly ordered series only."""
_AS_THEY_ARE = 40
"""Up to this many rows are used as they are rather than averaged in blocks."""
_SPARSE_ROWS = 20
"""Rows that a window is widened to when the log is sparse."""


class Trend(NamedTuple):
    """A direction, how sure it is, and how much it amounts to.

    Attributes:
        z: Mann-Kendall's standard normal score; over 1.96 is a rise.
        slope: Theil-Sen, per step.
        rise: slope times the span, relative to the mean absolute level (0.05: up by 5 %).
        points: points that it was worked out on. start, end: first and last step that it covers.
    """

    z: float
    slope: float
    rise: float
    points: int
    start: int
    end: int


def mann_kendall(values: Floats) -> float:
    """Mann-Kendall's z with the correction for ties and for continuity (Mann 1945, Kendall 1975); 0 for fewer than 3 values."""
    count = int(values.size)
    if count < 3:
        return 0.0
    first, second = _pairs(count)
    earlier, later = values[first], values[second]
    score = int(np.count_nonzero(later > earlier)) - int(np.count_nonzero(later < earlier))
    tied = 0.0
    if bool(np.any(later == earlier)):
        _, ties = np.unique(values, return_counts=True)
        tied = float(np.sum(ties * (ties - 1.0) * (2.0 * ties + 5.0)))
    variance = (count * (count - 1.0) * (2.0 * count + 5.0) - tied) / 18.0
    if variance <= 0.0 or score == 0:
        return 0.0
    return float((score - np.sign(score)) / np.sqrt(variance))


def theil_sen(x: Floats, y: Floats) -> float:
    """Median of the slopes between all pairs of points (Sen 1968); 0 where there is no pair."""
    first, second = _pairs(int(x.size))
    run = x[second] - x[first]
    some = run != 0
    return median((y[second] - y[first])[some] / run[some]) if bool(np.any(some)) else 0.0


@lru_cache(maxsize=64)
def _pairs(count: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """All pairs of an earlier place and a later one."""
    first, second = np.triu_indices(count, k=1)
    return first, second


def block_means(values: Floats, blocks: int) -> Floats:
    """Means of ``blocks`` consecutive parts, the first ones longer by one where it does not come out even; few values as they are."""
    size, longer = divmod(int(values.size), blocks)
    if not size:
        return values
    places = np.arange(blocks)
    sizes = size + (places < longer)
    return np.add.reduceat(values, places * size + np.minimum(places, longer)) / sizes


def recent_trend(series: Series, steps: int = 200, blocks: int = 20) -> Trend | None:
    """The trend over the last ``steps`` steps of finite values, or None with fewer than 8 rows.

    A sparse log holds few rows in so many steps: then the last 20 rows are taken (all, where there are fewer), and ``start`` says how far
    back that reaches.
    """
    clean = finite(series)
    if not len(clean):
        return None
    inside = int(clean.steps.size - np.searchsorted(clean.steps, int(clean.steps[-1]) - steps, side="right"))
    rows = min(max(inside, _SPARSE_ROWS), len(clean))
    return _trend(clean.steps[-rows:].astype(np.float64), clean.values[-rows:], blocks)


def whole_trend(series: Series, blocks: int = 40) -> Trend | None:
    """The trend over the whole series, on up to ``blocks`` block means; None with fewer than 8 finite rows."""
    clean = finite(series)
    return _trend(clean.steps.astype(np.float64), clean.values, blocks)


def _trend(x: Floats, y: Floats, blocks: int) -> Trend | None:
    rows = int(y.size)
    if rows < _LEAST:
        return None
    start, end = int(x[0]), int(x[-1])
    level = float(np.mean(np.abs(y)))
    if rows > max(_AS_THEY_ARE, blocks):
        x, y = block_means(x, blocks), block_means(y, blocks)
    slope = theil_sen(x, y)
    rise = slope * (end - start) / level if level > 0.0 else 0.0
    return Trend(mann_kendall(y), slope, float(rise), int(y.size), start, end)


def strictly_rising(series: Series, steps: int) -> bool | None:
    """The rule to the letter: every row of the last ``steps`` steps above the one before. None where the log is shorter than that."""
    clean = finite(series)
    if len(clean) < 2 or int(clean.steps[-1]) - int(clean.steps[0]) < steps:
        return None
    first = int(np.searchsorted(clean.steps, int(clean.steps[-1]) - steps))
    return bool(np.all(np.diff(clean.values[first:]) > 0))


def smoothed(values: Floats) -> Floats:
    """Running median of 3 (5 from 25 values on), the ends with what they have; as it is with fewer than 5 values."""
    count = int(values.size)
    if count < 5:
        return values
    half = 1 if count < 25 else 2
    middle = np.sort(np.lib.stride_tricks.sliding_window_view(values, 2 * half + 1), axis=1)[:, half]
    ends = [(median(values[: place + half + 1]), median(values[-(place + half + 1) :])) for place in range(half)]
    return np.concatenate([[left for left, _ in ends], middle, [right for _, right in reversed(ends)]])


def minimum(series: Series) -> tuple[int, float] | None:
    """Step and value of the lowest point of the smoothed finite series; None without one."""
    clean = finite(series)
    if not len(clean):
        return None
    smooth = smoothed(clean.values)
    place = int(np.argmin(smooth))
    return int(clean.steps[place]), float(smooth[place])


def rise_after_minimum(series: Series) -> float | None:
    """How far the smoothed series ends above its minimum, relative to the minimum's size; None without finite values."""
    low = minimum(series)
    if low is None:
        return None
    last = float(smoothed(finite(series).values)[-1])
    size = abs(low[1])
    return (last - low[1]) / size if size > 0.0 else (0.0 if last == low[1] else float("inf"))


def is_flat(series: Series, last: int | None = None, share: float = 0.01) -> bool | None:
    """Whether nothing moves but noise: no trend at z 1.96, or one of less than ``share`` of the level.

    ``last`` looks at so many last steps only. None with fewer than 8 finite rows.
    """
    trend = whole_trend(series) if last is None else recent_trend(series, last)
    return None if trend is None else abs(trend.z) <= 1.96 or abs(trend.rise) < share


def trend_beside_step(values: Floats) -> float:
    """Mann-Kendall z of the longer part of the values on either side of their largest step: 0 where they move once, or are too few.

    The largest step is where two means leave the least squares.
    """
    if values.size < _LEAST:
        return 0.0
    centred = values - values.mean()
    left = np.cumsum(centred)[:-1]
    sizes = np.arange(1, values.size)
    step = 1 + int(np.argmax(left**2 * values.size / (sizes * (values.size - sizes))))
    return mann_kendall(block_means(max(values[:step], values[step:], key=len), _AS_THEY_ARE))
