"""Marks between rows become events at steps."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sismo.records.types import Event, Note, Series
from sismo.sources.base import Mark
from sismo.sources.numbers import value_of
from sismo.sources.split import Segment

TOLD_BY_OVERFLOWS = "overflow messages"
"""Where a loss scale comes from that no row of the log holds."""
_EARLIER = "earlier"
_STRUCTURE = frozenset({"run", "resume", "gap"})
MAX_EVENTS_OF_A_TAG = 2000
"""A warning on every batch of a long run is one fact; beyond this many its repeats are only counted."""


def marks_of(marks: Sequence[Mark], segments: Sequence[Segment], which: int) -> list[Mark]:
    """The marks that belong to one run. At a border, what comes before the heading of the next run still belongs to the one that ends."""
    marks = _earlier(marks, segments[which])
    if len(segments) == 1:
        return [mark for mark in marks if mark.kind not in _STRUCTURE]
    rows = segments[which].rows
    first, end = int(rows[0]), int(rows[-1]) + 1
    last = which == len(segments) - 1
    heads = {row: next((at for at, mark in enumerate(marks) if mark.row == row and mark.kind == "run"), -1) for row in (first, end)}
    mine: list[Mark] = []
    for at, mark in enumerate(marks):
        if mark.kind in _STRUCTURE or not first <= mark.row <= end:
            continue
        if mark.row == first and which > 0 and not _after_head(mark, at, heads[first]):
            continue
        if mark.row == end and not last and _after_head(mark, at, heads[end]):
            continue
        mine.append(mark)
    return mine


def _earlier(marks: Sequence[Mark], segment: Segment) -> Sequence[Mark]:
    """The marks with the warnings of attempts that were taken up again later named ``earlier``: the last attempt may be free of them."""
    if not segment.seams:
        return marks
    first, last = int(segment.rows[0]), max(row for row, _ in segment.seams)
    # Of what stands at the seam itself, the line that takes the run up parts the two attempts; without one the end of the crash does.
    cuts = [at for at, mark in enumerate(marks) if mark.row == last and mark.kind in ("resume", "run")]
    cuts = cuts or [at for at, mark in enumerate(marks) if mark.row == last and mark.kind == "crash"]
    cut = cuts[-1] if cuts else next((at for at, mark in enumerate(marks) if mark.row >= last), len(marks))
    return [
        Mark(mark.row, _EARLIER, mark.data) if at < cut and mark.kind == "warning" and mark.row >= first else mark
        for at, mark in enumerate(marks)
    ]


def _after_head(mark: Mark, at: int, head: int) -> bool:
    return at > head if head >= 0 else mark.kind != "crash"


def events_of(
    marks: Sequence[Mark], segment: Segment, steps: NDArray[np.int64], anchor: NDArray[np.bool_]
) -> tuple[list[Event], list[Note]]:
    """Events with their steps: the last known step at that place; overflows are counted on from it, since each is a step of its own."""
    rows = segment.rows
    events: list[Event] = []
    survived, dropped = 0, 0
    tags: dict[str, int] = {}
    base_row, since = -1, 0
    for mark in marks:
        at = int(np.searchsorted(rows, mark.row))
        if mark.kind == _EARLIER:
            survived += 1
            continue
        if mark.kind == "crash" and bool(anchor[rows[at:]].any()):
            survived += 1
            continue
        tag = f"{mark.kind}:{mark.data.get('tag', '')}"
        tags[tag] = tags.get(tag, 0) + 1
        if tags[tag] > MAX_EVENTS_OF_A_TAG:
            dropped += 1
            continue
        if mark.kind == "overflow":
            since = since + 1 if at == base_row else 1
            base_row = at
        step = _step_at(mark, at, steps, since if mark.kind == "overflow" or base_row == at else 0)
        events.append(Event(step, mark.kind, {key: value for key, value in mark.data.items() if key != "at"}))
    notes: list[Note] = []
    if survived:
        text = "{count} errors and warnings before the last row were survived or belong to earlier attempts"
        notes.append(Note("earlier-attempts", text, {"count": survived}))
    if dropped:
        notes.append(Note("skipped-events", "{count} further repeats of the same messages were counted, not kept", {"count": dropped}))
    return events, notes


def _step_at(mark: Mark, at: int, steps: NDArray[np.int64], since: int) -> int:
    hint = value_of(mark.data.get("at"))
    if hint is not None:
        return int(hint)
    before = int(steps[at - 1]) if at > 0 and steps.size else None
    after = int(steps[at]) if at < steps.size else None
    if before is None:
        return max(0, min(since, after)) if after is not None and since else (since if after is None else after)
    step = before + since
    return min(step, after) if after is not None and after >= before else step


def loss_scale_from(events: Sequence[Event], logged: Series | None) -> Series | None:
    """The loss scale as logged and, between its rows and after them, as the overflows tell it. None where nothing does."""
    points = {
        event.step: scale for event in events if event.kind == "overflow" and (scale := value_of(event.data.get("scale_after"))) is not None
    }
    if not points:
        return logged
    if logged is not None:
        points |= zip(logged.steps.tolist(), logged.values.tolist(), strict=True)
    steps = np.asarray(sorted(points), dtype=np.int64)
    key = TOLD_BY_OVERFLOWS if logged is None else logged.source_key
    return Series("loss_scale", steps, np.asarray([points[step] for step in steps.tolist()], dtype=np.float64), key)
