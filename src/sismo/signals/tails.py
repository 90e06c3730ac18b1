"""How far noise alone reaches: what the height of a spike is compared with before it is called one."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sismo.signals.rolling import TINY, TO_SIGMA, Floats, median_of_three, medians

_BEFORE, _AFTER = 9, 3
"""Rows around a row that its height in the noise is taken against."""
_GAUSSIAN = 4.0
"""The tail of Gaussian noise by that reckoning: the least that is taken for granted while fewer than 100 rows speak."""
_RARE = 3e-4
"""Share of rows beyond the tail that is drawn out: 1 in 3,333."""
_HEAVIEST = 5.0
"""Ratio of the two quantiles past which a tail is no tail but a level of its own."""
_STRIDE = 100
"""Rows of history that share one scale, because noise shrinks as a loss falls."""
_FLOOR = 0.01
"""Least scale, as a share of the level (in logarithms: of one)."""
_SKEWED = 1.2
"""Ratio of the upper to the lower tail over which noise multiplies: for a log-normal it is e^(1.64 s); symmetric noise stays under it."""


class Tail(NamedTuple):
    """What the clean rows before a spike reach by themselves.

    Attributes:
        reach: scales over the level, 1 at least and about 4 for Gaussian noise.
        fold: where the noise multiplies (a loss that is log-normal from batch to batch): logarithms over the level; else None.
    """

    reach: float = _GAUSSIAN
    fold: float | None = None

    def prominence(self, peak: float, before: float, scale: float) -> float:
        """How many times further than the noise a peak stands out, by the reckoning that makes it look less."""
        height = (peak - before) / scale / self.reach
        if self.fold is None or not before > 0.0:
            return height
        return min(height, math.log(peak / before) / self.fold)


def tail(rows: Floats) -> Tail:
    """The tail of at least 20 clean rows in order.

    A row is taken against the medians around it (the mean of those of the 3 rows before and the 3 after), so that no trend counts, and,
    if it lies above, against the 9 rows before it, so that noise with a memory does; over the scale of its own 100 rows. Low rows count
    like high ones: they are never flagged, and so show the tails whole. Flagged rows are not here, though, which cuts a heavy tail off;
    so it is drawn out as a power law (Hill 1975, on two quantiles) from the 3rd and the 30th largest; with few rows, from the 1st and the
    3rd.
    """
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        off, above = _heights(rows)
        stride = min(_STRIDE, off.size)
        level = medians(_blocks(np.abs(rows[_BEFORE:-_AFTER]), stride))
        reach = _reach(off, above, np.maximum(_FLOOR * level, TINY))[0]
        if not (_multiplies(off) and bool(np.all(rows > 0.0))):
            return Tail(reach)
        off, above = _heights(np.log(rows))
        far, scale = _reach(off, above, np.full(off.size // stride, _FLOOR))
        return Tail(reach, far * scale)


def _heights(rows: Floats) -> tuple[Floats, Floats]:
    """Each row against those around it, and against those before it."""
    inner = rows[_BEFORE:-_AFTER]
    thirds = median_of_three(rows[:-2], rows[1:-1], rows[2:])
    count = inner.size
    nines = median_of_three(thirds[:count], thirds[3 : 3 + count], thirds[6 : 6 + count])
    return inner - 0.5 * (thirds[6 : 6 + count] + thirds[10 : 10 + count]), inner - nines


def _blocks(values: Floats, stride: int) -> Floats:
    """The last rows as a table of blocks."""
    count = values.size // stride
    return values[values.size - count * stride :].reshape(count, stride)


def _multiplies(off: Floats) -> bool:
    """Whether the upper tail is longer than the lower one: the medians of the highest and the lowest tenth."""
    ordered = np.sort(off)
    tenth = max(2, off.size // 10)
    return float(medians(ordered[-tenth:])) > _SKEWED * -float(medians(ordered[:tenth])) > 0.0


def _reach(off: Floats, above: Floats, floor: Floats) -> tuple[float, float]:
    """The largest absolute z, or the tail drawn out; and the scale of the last block."""
    size = np.abs(off)
    stride = min(_STRIDE, off.size)
    scale = np.maximum(TO_SIGMA * medians(_blocks(size, stride)), floor)
    z = np.sort((_blocks(np.maximum(size, above), stride) / scale[:, None]).ravel())[::-1]
    rows = z.size
    high, low = (3, 30) if rows >= 300 else (2, 10) if rows >= 100 else (1, 3)
    last = float(scale[-1])
    largest = max(_GAUSSIAN if rows < _STRIDE else 1.0, float(z[0]))
    if rows < 2 * low or not float(z[low - 1]) > 0.0:
        return largest, last
    near, far = float(z[low - 1]), float(z[high - 1])
    further = min(2.0, math.log(high / rows / _RARE) / math.log(low / high))
    return max(largest, far * min(far / near, _HEAVIEST) ** further), last
