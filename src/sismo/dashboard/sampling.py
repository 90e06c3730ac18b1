"""Fewer rows that draw the same picture: the lowest and the highest row of each bucket, so that no spike of one step is lost."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

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


def thinned(series: Series, buckets: int, centres: Rows) -> Series:
    """The series at its overview, with every row within ``AROUND`` steps of the centres (sorted)."""
    kept = overview(series.values, buckets)
    if kept.size < len(series):
        chosen = np.zeros(len(series), np.bool_)
        chosen[kept] = True
        for first, end in zip(*_reach(series, centres), strict=True):
            chosen[first:end] = True
        kept = np.flatnonzero(chosen)
    return Series(series.channel, series.steps[kept], series.values[kept], series.source_key)


def _reach(series: Series, centres: Rows) -> tuple[Rows, Rows]:
    """Per centre the rows around it as first and end, without those that the centre before has already."""
    first, end = np.searchsorted(series.steps, centres - AROUND), np.searchsorted(series.steps, centres + AROUND + 1)
    return np.maximum(first, np.concatenate([np.zeros(1, np.int64), end[:-1]])), end


class Flag(NamedTuple):
    """A step that is worth every row, and the channel that it is about; empty where it is about the whole run."""

    step: int
    channel: str = ""


class Whole(NamedTuple):
    """What is kept whole. ``centres`` are the sorted steps per series.

    Around ``everywhere`` all series are whole. ``partly`` is how many flagged steps more have at least what they are about; ``left`` how
    many have nothing.
    """

    centres: list[Rows]
    everywhere: list[int]
    partly: int
    left: int


def whole(flags: Iterable[Flag], series: Sequence[Series], budget: int) -> Whole:
    """Which rows to keep: ``flags`` come the most important first, ``budget`` is rows in all.

    First every flagged step keeps the series that it is about and those that every reader looks at; what the budget then has left
    goes to all the other series, again the most important steps first. A series that is whole in its overview costs nothing.
    """
    wanted = list(dict.fromkeys(flags))
    known = wanted[:_FLAGS]
    steps = np.array([flag.step for flag in known], dtype=np.int64)
    about = [np.array([one.channel in (flag.channel, *HEADS) for flag in known], dtype=np.bool_) for one in series]
    place = np.arange(len(known))

    def centres(own: int, everywhere: int) -> list[Rows]:
        return [np.unique(steps[(place < everywhere) | (mine & (place < own))]) for mine in about]

    def cost(found: Sequence[Rows]) -> int:
        pairs = (_reach(one, at) for one, at in zip(series, found, strict=True))
        return sum(int(np.maximum(end - first, 0).sum()) for first, end in pairs)

    own = _longest(len(known), lambda count: cost(centres(count, 0)) <= budget)
    everywhere = _longest(own, lambda count: cost(centres(own, count)) <= budget)
    inside = {flag.step for flag in known[:everywhere]}
    partly = {flag.step for flag in known[:own]} - inside
    return Whole(centres(own, everywhere), sorted(inside), len(partly), len({flag.step for flag in wanted} - inside - partly))


HEADS = ("loss/train", "loss/val", "lr/0", "grad_norm/pre")
"""Channels that are looked at whatever a flag is about."""

_FLAGS = 1_000
"""Flags that are looked at: a log with a hundred thousand overflows must not cost seconds."""


def buckets(series: Sequence[Series], budget: int) -> int:
    """How many buckets each overview may have so that all of them keep to a budget of rows; a series with fewer rows takes only those."""
    return max(_FEWEST, _longest(_MOST, lambda count: sum(min(len(one), 2 * count) for one in series) <= budget))


_FEWEST, _MOST = 20, 50_000


def _longest(most: int, fits: Callable[[int], bool]) -> int:
    """The largest count up to ``most`` that fits, where a larger one never fits better."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low


def spans(centres: Iterable[int]) -> list[tuple[int, int]]:
    """The stretches of steps around sorted centres, merged where they touch."""
    merged: list[tuple[int, int]] = []
    for low, high in ((step - AROUND, step + AROUND) for step in centres):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], high)
        else:
            merged.append((low, high))
    return merged
