"""Fewer rows that draw the same picture: the lowest and the highest row of each bucket, so that no spike of one step is lost."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from sismo.records.types import Series, Values

Rows = NDArray[np.int64]

AROUND = 500
"""Steps on both sides of a flagged event that are kept whole."""


def overview(values: Values, buckets: int) -> Rows:
    """Positions that keep the outline: first and last, and of each bucket the lowest, the highest and the first non-finite row."""
    count = values.size
    if count <= 2 * buckets:
        return np.arange(count)
    width = -(-count // buckets)
    whole = count // width
    body = values[: whole * width].reshape(whole, width)
    start = np.arange(whole) * width
    found = [np.array([0, count - 1])]
    # One sum tells whether anything is non-finite, without a mask of all rows; a sum that overflows only costs time.
    with np.errstate(all="ignore"):
        clean = bool(np.isfinite(values.sum()))
    if clean:
        found += [start + body.argmin(axis=1), start + body.argmax(axis=1)]
    else:
        lost = ~np.isfinite(body)
        found += [start + np.where(lost, np.inf, body).argmin(axis=1), start + np.where(lost, -np.inf, body).argmax(axis=1)]
        found.append((start + lost.argmax(axis=1))[lost.any(axis=1)])
    if whole * width < count:
        rest = values[whole * width :]
        found.append(whole * width + overview(rest, 1) if rest.size > 2 else np.arange(whole * width, count))
    return np.unique(np.concatenate(found))  # sorted too: the highest may come before the lowest


def thinned(series: Series, buckets: int, windows: Sequence[tuple[int, int]]) -> Series:
    """The series at its overview, with every row inside the windows of steps."""
    kept = overview(series.values, buckets)
    if kept.size < len(series):
        chosen = np.zeros(len(series), np.bool_)
        chosen[kept] = True
        for low, high in windows:
            first, end = np.searchsorted(series.steps, (low, high + 1))
            chosen[first:end] = True
        kept = np.flatnonzero(chosen)
    return Series(series.channel, series.steps[kept], series.values[kept], series.source_key)


def windows(steps: Iterable[int], rows_of: Sequence[Series], budget: int) -> tuple[list[tuple[int, int]], int]:
    """Stretches of steps around the flagged ones, the most important first, merged where they touch, until the budget of rows is spent.

    Returns the stretches in order of step, and how many flagged steps are in none of them.
    """
    kept: list[tuple[int, int]] = []
    left = 0
    for step in dict.fromkeys(steps):
        if any(low + AROUND <= step <= high - AROUND for low, high in kept):
            continue
        merged = _merge([*kept, (step - AROUND, step + AROUND)])
        cost = sum(int(np.diff(np.searchsorted(series.steps, (low, high + 1)))[0]) for series in rows_of for low, high in merged)
        if cost > budget:
            left += 1
            if left > _TRIES:
                break
            continue
        kept = merged
    return kept, left


_TRIES = 50
"""Flagged steps that are looked at after the budget is spent: a log with thousands of overflows must not cost seconds."""


def _merge(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for low, high in sorted(spans):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return merged
