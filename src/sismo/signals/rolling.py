"""Moments of every trailing window, and robust scales.

The moments come from a tree that doubles: windows of 1, 2, 4 … values, each the combination of two halves (Chan, Golub and LeVeque 1979,
"Updating formulae and a pairwise algorithm for computing sample variances"). Unlike cumulative sums this does not cancel (a loss of
1e-21 and a grad norm of 1e14 fare alike), and every step is elementwise, so the result for a window depends on nothing but its own values:
however the input was cut into chunks, the bits are the same.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sismo.records.numeric import median

Floats = NDArray[np.float64]

TO_SIGMA = 1.4826
"""MAD to standard deviation, for a Gaussian."""
_SORTED = 1000
"""Values up to which sorting them all is quicker than parting them at their middle."""
TINY = 1e-8
"""The least scale that a difference is measured with (docs/sources.md, rules for all detectors)."""


class Moments(NamedTuple):
    """Of windows that slide by one row; entry ``i`` is the window that starts at row ``i``.

    Attributes:
        window: rows in each.
        mean: arithmetic mean.
        squares: sum of squared deviations from the mean.
        products: sum of products of the deviations of row number and value.
    """

    window: int
    mean: Floats
    squares: Floats
    products: Floats

    @property
    def _times(self) -> float:
        return self.window * (self.window * self.window - 1) / 12.0

    @property
    def std(self) -> Floats:
        """Population standard deviation."""
        return np.sqrt(self.squares / self.window)

    @property
    def slope(self) -> Floats:
        """Least-squares slope per row; 0 for a window of one."""
        return self.products / self._times if self.window > 1 else np.zeros_like(self.mean)

    @property
    def residual_std(self) -> Floats:
        """Standard deviation about the least-squares line, with two degrees of freedom taken off."""
        if self.window < 3:
            return np.zeros_like(self.mean)
        left = self.squares - self.products * self.products / self._times
        return np.sqrt(np.maximum(left, 0.0) / (self.window - 2))

    @property
    def forecast(self) -> Floats:
        """Where the least-squares line is one row after the window."""
        return self.mean + self.slope * (0.5 * (self.window + 1))

    def part(self, first: int, count: int) -> Moments:
        """So many windows, from the one on that starts at row ``first``."""
        inside = slice(first, first + count)
        return Moments(self.window, self.mean[inside], self.squares[inside], self.products[inside])


class Pyramid:
    """Windows of every size up to ``largest``, from one tree over the same values."""

    def __init__(self, values: Floats, largest: int) -> None:
        if largest < 1:
            raise ValueError(f"a window of {largest} must be at least 1")
        values = np.ascontiguousarray(values, dtype=np.float64)
        self._levels = [Moments(1, values, np.zeros_like(values), np.zeros_like(values))]
        while (half := self._levels[-1]).window * 2 <= largest:
            count = max(half.mean.size - half.window, 0)
            self._levels.append(_join(half.part(0, count), half.part(half.window, count)))

    def moments(self, window: int, first: int, count: int) -> Moments:
        """Of so many windows, from the one on that starts at row ``first``. 100 is built as 4 + 32 + 64, in order of time."""
        used = [level for level in self._levels if window & level.window]
        whole = used[0].part(first, count)
        for level in used[1:]:
            whole = _join(whole, level.part(first + whole.window, count))
        return whole


def trailing_moments(values: Floats, window: int) -> Moments:
    """Moments of every full window of ``values``: ``len(values) - window + 1`` of them."""
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        return Pyramid(values, window).moments(window, 0, max(values.size - window + 1, 0))


def _join(first: Moments, second: Moments) -> Moments:
    """Windows made of one of ``first`` and the one of ``second`` that comes right after it."""
    before, after = first.window, second.window
    total = before + after
    delta = second.mean - first.mean
    squares = first.squares + second.squares
    products = first.products + second.products
    share = delta * (before * after / total)
    products += share * (0.5 * total)
    share *= delta
    squares += share
    delta *= after / total
    delta += first.mean
    return Moments(total, delta, squares, products)


def mad(values: Floats) -> float:
    """Median absolute deviation from the median, not scaled."""
    return median(np.abs(values - median(values)))


def robust_scale(values: Floats, floor: float = 0.01) -> float:
    """max(1.4826 MAD, ``floor`` |median|, 1e-8): the spread of the bulk, never 0 (docs/sources.md, rules for all detectors)."""
    if not values.size:
        return TINY
    return max(TO_SIGMA * mad(values), floor * abs(median(values)), TINY)


def medians(table: Floats) -> Floats:
    """Median along the last axis. As ``np.median`` without its checks, which cost more than the sort does for so few values."""
    size = table.shape[-1]
    middle = ((size - 1) // 2, size // 2)
    ordered = np.partition(table, middle, axis=-1) if size > _SORTED else np.sort(table, axis=-1)
    return 0.5 * (ordered[..., (size - 1) // 2] + ordered[..., size // 2])


def median_of_three(first: Floats, second: Floats, third: Floats) -> Floats:
    """Median of three arrays, value by value."""
    return np.maximum(np.minimum(first, second), np.minimum(np.maximum(first, second), third))
