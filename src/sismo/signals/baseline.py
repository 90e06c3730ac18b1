"""The clean rows just before a row, and what they say about it.

Three tests nominate a row: the mean of the window plus 3 sigma (the user's rule), and the least-squares line through the window and through
its last third, each forecast one row ahead plus 3 sigma of the residuals. The lines are there because an early descent inflates sigma about
the mean until no spike can pass it. A nominated row is then judged by order statistics, which a stray value in the window cannot move.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sismo.signals.rolling import TINY, TO_SIGMA, Floats, Moments, moments_pyramid, trailing_moments

HISTORY = 1024
"""Clean rows that are kept: what the prominence of a spike is measured against."""
_RECENT = 10
"""Rows whose median stands for the level of now; a convex descent is over its own straight forecast, and under this."""
_IN_DOUBT = 0.8
"""Share of the confirming z over which a row waits for the next one: two in a row confirm each other."""
_QUANTUM = 0.75
"""Least scale in units of the resolution of the values. Where more than half of rounded values agree (MAD 0), the noise is under 0.74 of it."""
_RELATIVE_FLOOR = 0.01
_STRIDE = 100
"""Rows of history that share one scale, because noise shrinks as a loss falls."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """That a row starts a spike: the level before it and the scale."""

    before: float
    scale: float


class Baseline:
    """Clean rows of one series, in order. Whoever asks puts flagged rows elsewhere."""

    def __init__(self, window: int, least: int, sigma: float, confirm_z: float, *, two_in_a_row: bool, literal: bool) -> None:
        self._window = max(window, 4)
        self._least = min(max(least, 4), self._window)
        self._sigma = sigma
        self._confirm_z = confirm_z
        self._doubt_z = confirm_z * (_IN_DOUBT if two_in_a_row else 1.0)
        self._literal = literal
        self._capacity = max(HISTORY, self._window)
        self._kept: Floats = np.empty(0, dtype=np.float64)
        # Sizes of the window while there are few rows: a fixed few, so that rows can be judged together.
        sizes = [int(self._least * factor) for factor in (1, 1.5, 2, 3, 4, 6, 8)]
        self._sizes = [size for size in sizes if size < self._window] + [self._window]

    def accept(self, values: Floats) -> None:
        """Rows that are clean."""
        self._kept = np.concatenate([self._kept, values])[-self._capacity :]

    def restart(self, values: Floats) -> None:
        """The bulk of these rows is the new level; what was before no longer counts."""
        middle = float(np.median(values))
        scale = max(TO_SIGMA * float(np.median(np.abs(values - middle))), _RELATIVE_FLOOR * abs(middle), TINY)
        self._kept = values[np.abs(values - middle) <= max(self._confirm_z, self._sigma) * scale]

    def take(self, values: Floats) -> tuple[int, Verdict | None]:
        """Accepts rows up to the first that starts a spike.

        Returns how many were accepted, and the verdict on the row after them. None accepted and no verdict: the first row is in doubt
        and the next one, which decides, is not there yet.
        """
        have = int(self._kept.size)
        if have < self._least:
            taken = min(self._least - have, int(values.size))
            self.accept(values[:taken])
            return taken, None
        rows = max(size for size in self._sizes if size <= have)
        room = min((size - have for size in self._sizes if size > have), default=int(values.size))
        head = values[:room]
        buffer = np.concatenate([self._kept[-rows:], head])
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            taken, verdict = self._literal_rule(buffer, rows, head) if self._literal else self._robust_rule(buffer, rows, head, values)
        self.accept(values[:taken])
        return taken, verdict

    def _literal_rule(self, buffer: Floats, rows: int, head: Floats) -> tuple[int, Verdict | None]:
        moments = trailing_moments(buffer[:-1], rows)
        std = moments.std
        over = head > moments.mean + self._sigma * std
        if not bool(np.any(over)):
            return int(head.size), None
        place = int(np.argmax(over))
        return place, Verdict(float(moments.mean[place]), max(float(std[place]), TINY))

    def _robust_rule(self, buffer: Floats, rows: int, head: Floats, values: Floats) -> tuple[int, Verdict | None]:
        wide = _widening(self._sigma, rows - 2) if rows < self._window else 1.0
        short = 1 << max((rows // 3).bit_length() - 1, 3) if rows >= 24 else 0
        long_run, brief = moments_pyramid(buffer[:-1], rows, short)
        forecast = long_run.forecast
        over = head > long_run.mean + (self._sigma * wide) * long_run.std
        over |= _off_the_line(head, long_run, forecast, self._sigma * wide)
        if brief is not None:
            brief = brief.tail(head.size)
            over |= _off_the_line(head, brief, brief.forecast, self._sigma * _widening(self._sigma, short - 2))
        places = np.flatnonzero(over)
        if not places.size:
            return int(head.size), None
        windows = np.lib.stride_tricks.sliding_window_view(buffer, rows)[places]
        before, scale = _judge(windows, forecast[places])
        z = (head[places] - before) / scale
        for number in np.flatnonzero(z > self._doubt_z * wide).tolist():
            place = int(places[number])
            if not z[number] > self._confirm_z * wide:
                if place + 1 >= values.size:
                    return place, None
                if not (values[place + 1] - before[number]) / scale[number] > self._doubt_z * wide:
                    continue
            return place, Verdict(float(before[number]), float(scale[number]))
        return int(head.size), None

    def now(self) -> tuple[float, float] | None:
        """Mean and scale of the window as it is; None with too few rows."""
        if self._kept.size < self._least:
            return None
        recent = self._kept[-self._window :]
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            moments = trailing_moments(recent, int(recent.size))
            if self._literal:
                return float(moments.mean[0]), max(float(moments.std[0]), TINY)
            return float(moments.mean[0]), float(_judge(recent[None, :], moments.forecast)[1][0])

    def largest_z(self) -> float:
        """The largest absolute z among the clean rows that are kept, 1 at least.

        Each row is taken against the mean of the medians of the 3 rows before and the 3 after, so that no trend counts, over the scale of
        its own 100 rows. Low rows count as well as high ones: they are never flagged, and so show how heavy the tails are.
        """
        kept = self._kept
        if kept.size < self._least:
            return 1.0
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            thirds = _median_of_three(kept[:-2], kept[1:-1], kept[2:])
            off = np.abs(kept[3:-3] - 0.5 * (thirds[:-4] + thirds[4:]))
            stride = min(_STRIDE, int(off.size))
            count = int(off.size) // stride
            table = off[-count * stride :].reshape(count, stride)
            level = np.median(np.abs(kept[3:-3][-count * stride :]).reshape(count, stride), axis=1)
            scale = np.maximum(TO_SIGMA * np.median(table, axis=1), np.maximum(_RELATIVE_FLOOR * level, TINY))
            largest = float(np.max(np.max(table, axis=1) / scale))
        return largest if largest > 1.0 else 1.0


def _widening(sigma: float, freedom: int) -> float:
    """Quantile of Student's t over that of the normal, at the tail beyond ``sigma`` (Cornish-Fisher, Abramowitz and Stegun 26.7.5)."""
    first = (sigma**3 + sigma) / 4
    second = (5 * sigma**5 + 16 * sigma**3 + 3 * sigma) / 96
    return 1.0 + (first / freedom + second / freedom**2) / sigma


def _off_the_line(values: Floats, moments: Moments, forecast: Floats, sigma: float) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which values lie above the forecast by more than the error of a forecast: residual sigma times sqrt(1 + 4 / n)."""
    return values > forecast + (sigma * (1.0 + 4.0 / moments.window) ** 0.5) * moments.residual_std


def _judge(windows: Floats, forecast: Floats) -> tuple[Floats, Floats]:
    """Level and scale for each window (a row of the table).

    The scale is the MAD about two straight lines, one per half, each through medians: slope the median of the differences at half the
    length. Two lines follow a bend that one would take for noise. Four numbers are fitted, hence n / (n - 4).
    """
    rows = windows.shape[1]
    before = np.maximum(forecast, np.median(windows[:, -_RECENT:], axis=1))
    half = rows // 2
    halves = windows[:, rows - 2 * half :].reshape(windows.shape[0], 2, half)
    lag = half // 2
    slope = np.median(halves[:, :, lag:] - halves[:, :, : half - lag], axis=2) / lag
    left = halves - slope[:, :, None] * np.arange(half, dtype=np.float64)
    left -= np.median(left, axis=2)[:, :, None]
    spread = np.median(np.abs(left.reshape(windows.shape[0], 2 * half)), axis=1)
    ordered = np.sort(windows, axis=1)
    gaps = np.diff(ordered, axis=1)
    quantum = np.min(np.where(gaps > 0, gaps, np.inf), axis=1)
    quantum = np.where(np.isfinite(quantum), quantum, 0.0)
    level = np.abs(ordered[:, rows // 2])
    fitted = TO_SIGMA * (rows / (rows - 4)) ** 0.5 * spread
    return before, np.maximum(np.maximum(fitted, _QUANTUM * quantum), np.maximum(_RELATIVE_FLOOR * level, TINY))


def _median_of_three(first: Floats, second: Floats, third: Floats) -> Floats:
    return np.maximum(np.minimum(first, second), np.minimum(np.maximum(first, second), third))
