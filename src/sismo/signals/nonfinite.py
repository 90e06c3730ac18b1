"""Where a series is NaN or infinite."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sismo.records.types import Steps, Values

_KINDS = {1: "nan", 2: "inf", 3: "mixed"}


class Span(NamedTuple):
    """A stretch of rows, one after the other, none of which is finite.

    Attributes:
        start, end: first and last step. rows: how many. kind: ``nan``, ``inf`` or ``mixed``.
    """

    start: int
    end: int
    rows: int
    kind: str


class NonfiniteTracker:
    """Collects the non-finite spans of a series that comes in chunks of any size."""

    def __init__(self) -> None:
        self._done: list[Span] = []
        self._open: tuple[int, int, int, int] | None = None  # start, end, rows, bits of what was seen
        self._rows = 0
        self._bad = 0

    def update(self, step: int, value: float) -> None:
        """One row."""
        self.extend(np.array([step], dtype=np.int64), np.array([value], dtype=np.float64))

    def extend(self, steps: Steps, values: Values) -> None:
        """The next rows."""
        count = int(values.size)
        if not count:
            return
        bad = ~np.isfinite(values)
        found = int(np.count_nonzero(bad))
        self._rows += count
        self._bad += found
        if not bad[0]:
            self._close()
        if not found:
            return
        edges = np.flatnonzero(np.diff(bad.view(np.int8), prepend=np.int8(0), append=np.int8(0)))
        seen = np.where(np.isnan(values), 1, 2) * bad
        kinds = np.bitwise_or.reduceat(seen, edges[edges < count])[::2].tolist()
        for start, stop, kind in zip(edges[::2].tolist(), edges[1::2].tolist(), kinds, strict=True):
            first, rows = int(steps[start]), stop - start
            if self._open is not None:  # only the first stretch of a chunk can go on from the last chunk
                first, rows, kind = self._open[0], rows + self._open[2], kind | self._open[3]
            self._open = (first, int(steps[stop - 1]), rows, kind)
            if stop < count:
                self._close()

    def _close(self) -> None:
        if self._open is not None:
            start, end, rows, bits = self._open
            self._done.append(Span(start, end, rows, _KINDS[bits]))
            self._open = None

    @property
    def spans(self) -> tuple[Span, ...]:
        """All spans so far, in order; the last one may still be growing."""
        if self._open is None:
            return tuple(self._done)
        start, end, rows, bits = self._open
        return (*self._done, Span(start, end, rows, _KINDS[bits]))

    @property
    def share(self) -> float:
        """Share of all rows that are not finite; 0 without rows."""
        return self._bad / self._rows if self._rows else 0.0

    @property
    def forever(self) -> bool:
        """Whether the last row is not finite, so that the series never came back."""
        return self._open is not None


def spans(steps: Steps, values: Values) -> tuple[Span, ...]:
    """The non-finite spans of a whole series."""
    tracker = NonfiniteTracker()
    tracker.extend(steps, values)
    return tracker.spans
