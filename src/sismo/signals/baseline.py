"""The clean rows just before a row, and what they say about it.

Four tests nominate a row, all at 3 sigma: over the mean of the window (the user's rule); over the least-squares line through the window,
and through its last third, one row ahead, because an early descent inflates sigma about the mean until no spike can pass it; and over the
median of the means of three thirds, because a single row far below does the same. A nominated row is then judged by order statistics,
which no stray row in the window can move.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sismo.records.numeric import median
from sismo.signals.rolling import TINY, TO_SIGMA, Floats, Moments, Pyramid, median_of_three, medians, trailing_moments
from sismo.signals.tails import Tail, tail

HISTORY = 1024
"""Clean rows that are kept: what the prominence of a spike is measured against."""
_RECENT = 10
"""Rows whose median stands for the level of now; a convex descent is over its own straight forecast, and under this."""
IN_DOUBT = 0.8
"""Share of the confirming z over which a row waits for the next one: two in a row confirm each other."""
_QUANTUM = 0.75
"""Least scale, in units of the resolution of the values: where over half of them round to the same (MAD 0), the noise is under 0.74."""
_RELATIVE_FLOOR = 0.01
_BENT = 6.0
"""Spreads by which the lines of two halves must part for the window to be a steep convex descent."""
_PIECE = 10
"""Rows that a line is fitted to at least."""
_STEEP = 20
"""Rows at the start of a series that do not tell what its noise does."""


Truths = NDArray[np.bool_]


class Verdict(NamedTuple):
    """That a row starts a spike: the level before it and the scale."""

    before: float
    scale: float


class _Span(NamedTuple):
    """Places of a buffer, from ``start`` to before ``stop``, with a window of so many rows before each."""

    rows: int
    start: int
    stop: int


class Baseline:
    """Clean rows of one series, in order. Whoever asks puts flagged rows elsewhere."""

    def __init__(self, window: int, least: int, sigma: float, confirm_z: float, *, two_in_a_row: bool, literal: bool) -> None:
        self._window = max(window, 4)
        self._least = min(max(least, 4), self._window)
        self._sigma = sigma
        self._confirm_z = confirm_z
        self._doubt_z = confirm_z * (IN_DOUBT if two_in_a_row else 1.0)
        self._literal = literal
        self._capacity = max(HISTORY, self._window)
        self._kept: Floats = np.empty(0, dtype=np.float64)
        # Sizes of the window while there are few rows: a fixed few, so that rows can be judged together.
        sizes = [int(self._least * factor) for factor in (1, 1.5, 2, 3, 4, 6, 8)]
        self._sizes = [size for size in sizes if size < self._window] + [self._window]

    @property
    def rows(self) -> int:
        """Clean rows that are kept."""
        return int(self._kept.size)

    def accept(self, values: Floats) -> None:
        """Rows that are clean."""
        self._kept = np.concatenate([self._kept, values])[-self._capacity :]

    def restart(self, values: Floats) -> None:
        """The bulk of these rows is the new level; what was before no longer counts."""
        middle = float(median(values))
        scale = max(TO_SIGMA * float(median(np.abs(values - middle))), _RELATIVE_FLOOR * abs(middle), TINY)
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
        kept = self._kept[-self._window :]
        buffer = np.concatenate([kept, values])
        rule = self._literal_rule if self._literal else self._robust_rule
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            taken, verdict = rule(buffer, int(kept.size))
        self.accept(values[:taken])
        return taken, verdict

    def _literal_rule(self, buffer: Floats, have: int) -> tuple[int, Verdict | None]:
        moments = trailing_moments(buffer[:-1], have)
        std = moments.std
        over = buffer[have:] > moments.mean + self._sigma * std
        if not bool(np.any(over)):
            return int(over.size), None
        place = int(np.argmax(over))
        return place, Verdict(float(moments.mean[place]), max(float(std[place]), TINY))

    def _robust_rule(self, buffer: Floats, have: int) -> tuple[int, Verdict | None]:
        spans = self._spans(have, int(buffer.size))
        pyramid = Pyramid(buffer[:-1], spans[-1].rows)
        for span in spans:
            places = self._nominated(buffer, span, pyramid)
            if not places.size:
                continue
            _, confirm, doubt = self._widths(span.rows)
            before, scale = _judge(np.lib.stride_tricks.sliding_window_view(buffer, span.rows)[places - span.rows])
            z = (buffer[places] - before) / scale
            for number in np.flatnonzero(z > doubt).tolist():
                place = int(places[number])
                if not z[number] > confirm:
                    if place + 1 >= buffer.size:
                        return place - have, None
                    if not (buffer[place + 1] - before[number]) / scale[number] > doubt:
                        continue
                return place - have, Verdict(float(before[number]), float(scale[number]))
        return int(buffer.size) - have, None

    def _spans(self, have: int, end: int) -> list[_Span]:
        """The places of a buffer from ``have`` to ``end``, by the size of the window before them, which grows while there are few rows."""
        uppers = [*self._sizes[1:], end]
        spans = [_Span(rows, max(have, rows), min(upper, end)) for rows, upper in zip(self._sizes, uppers, strict=True)]
        return [span for span in spans if span.start < span.stop]

    def _nominated(self, buffer: Floats, span: _Span, pyramid: Pyramid) -> NDArray[np.int64]:
        """The places of a span whose rows lie over what the window before them leads to expect."""
        rows, start, stop = span
        head, count = buffer[start:stop], stop - start
        sigma = self._sigma * self._widths(rows)[0]
        long_run = pyramid.moments(rows, start - rows, count)
        over = head > long_run.mean + sigma * long_run.std
        over |= _off_the_line(head, long_run, sigma)
        if rows >= 24:
            short = 1 << max((rows // 3).bit_length() - 1, 3)
            sigma = self._sigma * widening(self._sigma, short - 2)
            thirds = [pyramid.moments(short, start - back * short, count) for back in (1, 2, 3)]
            over |= _off_the_line(head, thirds[0], sigma)
            over |= _over_the_median_third(head, thirds, sigma)
        # A row no higher than one of the four clean rows before it is no spike, or that one would have been. It spares judging plateaus.
        for back in range(1, 5):
            over &= head > buffer[start - back : stop - back]
        return start + np.flatnonzero(over)

    def _widths(self, rows: int) -> tuple[float, float, float]:
        """Factor on sigma, confirming z and doubtful z: wider while the window is not full. A MAD knows half of its rows."""
        if rows >= self._window:
            return 1.0, self._confirm_z, self._doubt_z
        wide = widening(self._confirm_z, rows // 2)
        return widening(self._sigma, rows - 2), self._confirm_z * wide, self._doubt_z * wide

    def now(self) -> tuple[float, float] | None:
        """Mean and scale of the window as it is; None with too few rows."""
        if self._kept.size < self._least:
            return None
        recent = self._kept[-self._window :]
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            moments = trailing_moments(recent, int(recent.size))
            if self._literal:
                return float(moments.mean[0]), max(float(moments.std[0]), TINY)
            return float(moments.mean[0]), float(_judge(recent[None, :])[1][0])

    def tail(self) -> Tail:
        """How far the noise of the clean rows that are kept reaches by itself; the first rows fall too steeply to count."""
        kept = self._kept
        if kept.size < self._least:
            return Tail()
        return tail(kept[_STEEP:] if 5 * _STEEP <= kept.size < self._capacity else kept)


def widening(sigma: float, freedom: int) -> float:
    """Quantile of Student's t over that of the normal, at the tail beyond ``sigma`` (Cornish-Fisher, Abramowitz and Stegun 26.7.5)."""
    first = (sigma**3 + sigma) / 4
    second = (5 * sigma**5 + 16 * sigma**3 + 3 * sigma) / 96
    return 1.0 + (first / freedom + second / freedom**2) / sigma


def _off_the_line(values: Floats, moments: Moments, sigma: float) -> Truths:
    """Which values lie above the line's forecast by more than the error of a forecast: residual sigma times sqrt(1 + 4 / n)."""
    return values > moments.forecast + (sigma * (1.0 + 4.0 / moments.window) ** 0.5) * moments.residual_std


def _over_the_median_third(values: Floats, thirds: Sequence[Moments], sigma: float) -> Truths:
    """Which values lie above the median of the means of the last three short windows, in units of the median of their deviations.

    A row far below the rest is never a spike, so it is in the baseline, where it inflates every sigma; here it spoils one window of three.
    """
    mean = median_of_three(*(third.mean for third in thirds))
    return values > mean + sigma * median_of_three(*(third.std for third in thirds))


def _judge(windows: Floats) -> tuple[Floats, Floats]:
    """Level and scale for each window (a row of the table)."""
    rows = windows.shape[1]
    spread, forecast, bend = _about_lines(windows, 2)
    wide, straight, _ = _about_lines(windows, 1)
    before = np.maximum(np.maximum(forecast, straight), medians(windows[:, -_RECENT:]))
    if rows < 4 * _PIECE:  # too few for two lines not to follow the noise, when it has a memory
        spread = np.maximum(spread, wide)
    # In a steep convex descent two lines leave a bend in what they call noise; four leave a quarter of it. Not always four: with noise
    # that remembers (AR(1) at 0.9) they would follow the noise. That never bends by more than about 4 times its own spread.
    bent = np.flatnonzero(bend > _BENT * spread)
    if bent.size and rows >= 4 * _PIECE:
        spread[bent] = np.minimum(spread[bent], _about_lines(windows[bent], 4)[0])
    ordered = np.sort(windows, axis=1)
    gaps = np.diff(ordered, axis=1)
    quantum = np.min(np.where(gaps > 0.0, gaps, np.inf), axis=1)
    quantum[np.isinf(quantum)] = 0.0
    floor = np.maximum(_RELATIVE_FLOOR * np.abs(ordered[:, rows // 2]), TINY)
    return before, np.maximum(np.maximum(spread, _QUANTUM * quantum), floor)


def _about_lines(windows: Floats, pieces: int) -> tuple[Floats, Floats, Floats]:
    """Straight lines, one per piece of each window: the scaled MAD about them, the last one's forecast, and how far the first two part.

    A line goes through medians: its slope is the median of the differences at half the length, so no stray row moves it. Two numbers are
    fitted per piece, hence n / (n - 2 pieces). The parting is over the length of a piece, and counts for a fall that levels off only.
    """
    count, rows = windows.shape
    size = rows // pieces
    parts = windows[:, rows - pieces * size :].reshape(count, pieces, size)
    lag = size // 2
    slope = medians(parts[:, :, lag:] - parts[:, :, : size - lag]) / lag
    left = parts - slope[:, :, None] * np.arange(size, dtype=np.float64)
    level = medians(left)
    left -= level[:, :, None]
    spread: Floats = medians(np.abs(left).reshape(count, pieces * size)) * (TO_SIGMA * (rows / (rows - 2 * pieces)) ** 0.5)
    forecast: Floats = level[:, -1] + slope[:, -1] * size
    bend: Floats = np.where(slope[:, 0] < 0.0, (slope[:, min(1, pieces - 1)] - slope[:, 0]) * size, 0.0)
    return spread, forecast, bend
