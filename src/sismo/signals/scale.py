"""What dynamic loss scaling did: its doublings and halvings, and the steps that it skipped.

A scaler starts far too high on purpose and halves until the gradients fit; that costs some 20 steps and means nothing. What means something
is a scale that goes on falling, one that never reacts, and overflows that are no longer rare (docs/sources.md, detector 8).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sismo.records.numeric import median
from sismo.records.types import Event, Series, Steps
from sismo.signals.levels import finite
from sismo.signals.rolling import Floats

_SEARCH = 4096.0
"""A log that begins mid-run shows a scaler's search only from such a scale down: below it the level was found long ago."""
_STARTUP = 35
"""Steps: 2^32 comes down to 2^15 in 17 overflows, and twice that is still a scaler that looks for its level."""
_RARE = 0.05
"""Share of overflows over which the scale has not found a level (docs/sources.md, detector 8: skipped-step rate)."""
_FALL = 3
"""Halvings without a doubling that are a fall (docs/sources.md, detector 8)."""
_DEEP = 8
"""Halvings after which a fall is a collapse even where the scale then stays: some scalers stop at a minimum
(docs/sources.md, detector 8: 2^8)."""


class ScaleHistory(NamedTuple):
    """The loss scale from the first step to the last.

    Attributes:
        first, last, minimum, maximum: values of the scale; None where only skipped steps are known.
        halvings, doublings: how often, counted in factors of two (a sparse log shows several in one row).
        longest_fall: most halvings without a doubling between.
        overflow_steps: steps that overflowed, as far as the log has them: from its events, else its count of skipped steps, else the falls.
        overflow_share: their share of the steps covered. late_overflow_share: the same after the first 35 steps.
        constant: it never changed. placeholder: constant at 1, 0 or -1 with no word of an overflow, or no scale and a count of skipped
            steps that stays 0, as a log without scaling prints them.
        collapsed: ends under 1, and not on a level that it holds; or overflows at a scale of 1 that cannot fall; or ends at its minimum
            after a fall of 3 halvings or more, if that is 1, still falls after the start-up, or came down by 8 halvings after it.
        startup_end: step of the last overflow in the first 35 steps, where the scale found its level after; None without one.
        skipped_from_start: every step in the log was skipped.
        frozen_since: step since which none but skipped steps came, 3 at least; None where the last step was applied.
        start, end: first and last step covered.
    """

    first: float | None
    last: float | None
    minimum: float | None
    maximum: float | None
    halvings: int
    doublings: int
    longest_fall: int
    overflow_steps: tuple[int, ...]
    overflow_share: float
    late_overflow_share: float
    constant: bool
    placeholder: bool
    collapsed: bool
    startup_end: int | None
    skipped_from_start: bool
    frozen_since: int | None
    start: int
    end: int


def describe(
    scale: Series | None,
    overflows: Sequence[Event] = (),
    skipped: Series | None = None,
    *,
    first_step: int | None = None,
    last_step: int | None = None,
) -> ScaleHistory | None:
    """The history, from whatever there is of it; None where there is nothing.

    ``first_step`` and ``last_step`` are those of the run, where they are known: without them a log that holds nothing but its overflows
    would seem to consist of them.
    """
    steps, values = _values(scale, overflows)
    missed_steps, missed = _missed(overflows, skipped, steps, values)
    told_by_scale = not overflows and skipped is None  # then the first row cannot show a fall
    known = np.concatenate([steps, missed_steps, skipped.steps if skipped is not None else missed_steps[:0]])
    if not known.size:
        return None
    start = min(int(known.min()), first_step if first_step is not None else int(known.min()))
    end = max(int(known.max()), last_step if last_step is not None else int(known.max()))
    interval = float(median(np.diff(steps))) if steps.size > 2 else 1.0
    searching = start <= _STARTUP or (values.size > 0 and float(values[0]) >= _SEARCH)
    horizon = start + max(_STARTUP, int(interval)) if searching else start - 1
    share = min(1.0, float(missed.sum()) / (end - start + 1))
    late = min(1.0, float(missed[missed_steps > horizon].sum()) / (end - horizon)) if end > horizon else 0.0
    factors = _factors(values)
    falls = _falls(factors)
    trailing = falls[-1] if falls else 0
    frozen = _frozen_since(missed_steps, missed, end)
    moves = steps[1:][factors != 0]
    at_it = frozen is not None or (moves.size > 0 and int(moves[-1]) > end - 3 * max(interval, 1.0))
    constant = values.size > 1 and not bool(np.any(values != values[0]))
    printed = values.size > 0 and (constant or values.size == 1) and float(values[0]) in (-1.0, 0.0, 1.0)
    placeholder = not overflows and (printed or not (values.size or missed.any()))
    low = not placeholder and values.size > 0 and float(values[-1]) < 1.0 and not (constant and not missed.any())
    fallen = trailing >= _FALL and float(values[-1]) <= float(values.min())
    rises = np.flatnonzero(factors > 0)
    later = moves[np.count_nonzero(factors[: int(rises[-1]) + 1]) :] if rises.size else moves
    deep = trailing >= _DEEP and later.size > 0 and int(later[0]) > horizon
    bottom = constant and bool(overflows) and float(values[-1]) <= 1.0 and frozen is not None
    collapsed = low or bottom or (fallen and (float(values[-1]) <= 1.0 or deep or (at_it and end > horizon)))
    early = missed_steps[missed_steps <= horizon]
    return ScaleHistory(
        first=float(values[0]) if values.size else None,
        last=float(values[-1]) if values.size else None,
        minimum=float(values.min()) if values.size else None,
        maximum=float(values.max()) if values.size else None,
        halvings=int(-factors[factors < 0].sum()),
        doublings=int(factors[factors > 0].sum()),
        longest_fall=max(falls, default=0),
        overflow_steps=tuple(missed_steps.tolist()),
        overflow_share=share,
        late_overflow_share=late,
        constant=constant,
        placeholder=placeholder,
        collapsed=collapsed,
        startup_end=int(early[-1]) if early.size and not collapsed and late <= _RARE and end > int(early[-1]) + len(early) else None,
        skipped_from_start=float(missed.sum()) >= max(2.0, end - start + (0.0 if told_by_scale else 1.0)),
        frozen_since=frozen,
        start=start,
        end=end,
    )


def _values(scale: Series | None, overflows: Sequence[Event]) -> tuple[Steps, Floats]:
    """The scale where it was logged; else as the overflow messages tell it, each of them before and after."""
    told: list[tuple[int, float]] = []
    afters: set[tuple[int, float]] = set()
    for event in overflows:
        before, after = event.data.get("scale_before"), event.data.get("scale_after")
        if isinstance(before, int | float) and (not told or told[-1][1] != before):
            told.append((event.step, float(before)))
        if isinstance(after, int | float):
            told.append((event.step, float(after)))
            afters.add(told[-1])
    if scale is not None:
        clean = finite(scale)
        if len(clean) and not afters.issuperset(zip(clean.steps.tolist(), clean.values.tolist(), strict=True)):
            return clean.steps, clean.values
    told = [(step, value) for step, value in told if np.isfinite(value)]
    return np.array([step for step, _ in told], dtype=np.int64), np.array([value for _, value in told], dtype=np.float64)


def _missed(overflows: Sequence[Event], skipped: Series | None, steps: Steps, values: Floats) -> tuple[Steps, Floats]:
    """Steps that overflowed, and how many each stands for (a row of a sparse log counts several)."""
    if overflows:
        which, counts = np.unique(np.array([event.step for event in overflows], dtype=np.int64), return_counts=True)
        return which, np.minimum(counts, 1).astype(np.float64)
    if skipped is not None:
        clean = finite(skipped)
        some = clean.values > 0.0
        return clean.steps[some], clean.values[some]
    factors = _factors(values)
    fell = factors < 0
    return steps[1:][fell], -factors[fell].astype(np.float64)


def _factors(values: Floats) -> NDArray[np.int64]:
    """Row by row, by how many factors of two the scale moved; at least one where it moved by half of that."""
    if values.size < 2:
        return np.zeros(0, dtype=np.int64)
    usable = (values[1:] > 0.0) & (values[:-1] > 0.0)
    ratio = np.where(usable, values[1:], 1.0) / np.where(usable, values[:-1], 1.0)
    return np.round(np.log2(ratio)).astype(np.int64)


def _falls(factors: NDArray[np.int64]) -> list[int]:
    """Halvings between doublings, in order; the last one is what the log ends with."""
    falls = [0]
    for factor in factors[factors != 0].tolist():
        if factor > 0:
            falls.append(0)
        else:
            falls[-1] -= factor
    return falls


def _frozen_since(steps: Steps, counts: Floats, end: int) -> int | None:
    """First step of the run of skipped steps that the log ends with. A row that counts several steps reaches back over as many."""
    if not steps.size or int(steps[-1]) < end - 1:
        return None
    gap = np.flatnonzero(np.diff(steps) > np.maximum(counts, 1.0)[1:])
    first = int(gap[-1]) + 1 if gap.size else 0
    return int(steps[first]) if float(counts[first:].sum()) >= _FALL else None
