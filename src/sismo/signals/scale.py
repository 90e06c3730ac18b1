"""What dynamic loss scaling did: its doublings and halvings, and the steps that it skipped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sismo.records.types import Event, Series
from sismo.signals.trend import finite

_STARTUP_STEPS = 35
"""A scale of 2^32 comes down to 2^15 in 17 overflows; twice that is still looking for its level (FIELD, detector 8: first ~20 steps)."""


@dataclass(frozen=True, slots=True)
class ScaleHistory:
    """The loss scale from the first step to the last.

    Attributes:
        first, last, minimum, maximum: values of the scale; None where only overflow steps are known.
        halvings, doublings: changes to half or less, to double or more.
        longest_fall: most halvings without a doubling between.
        overflow_steps: steps that overflowed. overflow_share: their share of the steps covered.
        late_overflow_share: the same after the start-up.
        constant: it never changed. placeholder: constant at 1, 0 or -1, which is what a log without scaling prints.
        collapsed: ends under 1, or at its minimum after 3 or more halvings without a doubling.
        startup_end: step of the last overflow of a start-up that then found its level; None without one.
        skipped_from_start: every step in the log was skipped.
        frozen_since: step since which nothing but skipped steps came; None where the last step was applied.
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
    scale: Series | None, overflows: Sequence[Event] = (), skipped: Series | None = None, last_step: int | None = None
) -> ScaleHistory | None:
    """The history, from whatever there is of it; None where there is nothing."""
    clean = finite(scale) if scale is not None else None
    if clean is None or not len(clean):
        return None
    values = clean.values
    return ScaleHistory(
        first=float(values[0]),
        last=float(values[-1]),
        minimum=float(values.min()),
        maximum=float(values.max()),
        halvings=int(np.count_nonzero(values[1:] <= 0.5 * values[:-1])),
        doublings=int(np.count_nonzero(values[1:] >= 2 * values[:-1])),
        longest_fall=0,
        overflow_steps=(),
        overflow_share=0.0,
        late_overflow_share=0.0,
        constant=bool(np.all(values == values[0])),
        placeholder=False,
        collapsed=False,
        startup_end=None,
        skipped_from_start=False,
        frozen_since=None,
        start=int(clean.steps[0]),
        end=int(clean.steps[-1]),
    )
