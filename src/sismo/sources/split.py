"""Which rows belong to which run: several runs in one file, resumes, and two writers in turn are told apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sismo.records.numeric import median
from sismo.records.types import Note
from sismo.sources.base import Mark

TWO_WRITERS_FALLS = 0.2
"""Share of rows at which the step falls back, beyond which two writers are suspected rather than restarts."""
MAX_REPEATS = 0.15
"""Share of rows that may repeat the step before them while a repeated first step still means another start."""
FAR_INTERVALS = 20
"""A row this many strides ahead of the only writer so far belongs to another one."""
MIN_FALLS_FOR_TWO_WRITERS = 6
MIN_FALLS_OUT_OF_ORDER = 3
SHUFFLED_FALLS = 0.4
"""Share of rows at which the step falls back, from which rows that hardly repeat a step are one run out of order (shuffled: half)."""
MAX_REPEATED = 0.02


@dataclass(slots=True)
class Segment:
    """The rows of one run.

    Attributes:
        rows: indexes into the table, in order. name: what the log calls it.
        seams: rows at which it was taken up again, with whether a line says so. notes: remarks on the run alone.
    """

    rows: NDArray[np.int64]
    name: str = ""
    seams: list[tuple[int, bool]] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)


@dataclass(slots=True)
class _Open:
    start: int
    name: str
    seams: list[tuple[int, bool]] = field(default_factory=list)


def split(position: NDArray[np.float64], marks: Sequence[Mark], anchor: NDArray[np.bool_]) -> list[Segment]:
    """The runs of a table.

    Arguments:
        position: step (or epoch) per row, NaN where unknown. marks: in order of row; ``run``, ``resume`` and ``gap`` matter here.
        anchor: the rows that carry the main loss.
    """
    n_rows = position.size
    known = np.flatnonzero(np.isfinite(position))
    values = position[known]
    moves = np.diff(values)
    falls = np.flatnonzero(moves < 0) + 1
    if falls.size >= MIN_FALLS_FOR_TWO_WRITERS and falls.size > TWO_WRITERS_FALLS * known.size:
        writers = _two_writers(position, known)
        if writers is not None:
            return writers
    if _out_of_order(values, falls.size):
        note = Note("unsorted-rows", "the rows are not in the order of their steps; they were sorted")
        return [Segment(np.arange(n_rows, dtype=np.int64), _name_at(marks, 0), [], [note])]
    if not falls.size and not marks and not bool(np.any(moves == 0)):
        return [Segment(np.arange(n_rows, dtype=np.int64))]
    places = sorted(
        {int(known[at]) for at in falls}
        | _starts_again(position, anchor)
        | {mark.row for mark in marks if mark.kind in ("run", "resume") and mark.row < n_rows}
    )
    steps_up = moves[moves > 0]
    interval = median(steps_up) if steps_up.size else 1.0
    first_name = _name_at(marks, 0)
    done: list[tuple[_Open, int]] = []
    current = _Open(0, first_name)
    for place in places:
        if place <= current.start and place == 0:
            continue
        verdict = _judge(place, current, position, known, values, marks, interval)
        if verdict == "run":
            done.append((current, place))
            current = _Open(place, _name_at(marks, place))
        elif verdict == "resume":
            current.seams.append((place, _marked(marks, place, position, current)))
    done.append((current, n_rows))
    segments = [Segment(np.arange(one.start, end, dtype=np.int64), one.name, one.seams) for one, end in done if end > one.start]
    return segments or [Segment(np.arange(n_rows, dtype=np.int64), first_name)]


def _out_of_order(values: NDArray[np.float64], falls: int) -> bool:
    """Whether one run was written newest first or shuffled: falls everywhere, and hardly a step twice, as restarts would have it."""
    if falls < MIN_FALLS_OUT_OF_ORDER or falls < SHUFFLED_FALLS * values.size:
        return False
    return np.unique(values).size > (1 - MAX_REPEATED) * values.size


def _starts_again(position: NDArray[np.float64], anchor: NDArray[np.bool_]) -> set[int]:
    """Rows that repeat the step of the very first row: a start that died after one row, then another.

    A log that repeats every step (two ranks) repeats the first one as well; that is no restart.
    """
    rows = np.flatnonzero(anchor & np.isfinite(position))
    repeats = np.flatnonzero(np.diff(position[rows]) == 0) + 1
    if not repeats.size or repeats.size > MAX_REPEATS * rows.size:
        return set()
    return {int(rows[at]) for at in repeats}


def _judge(
    place: int,
    current: _Open,
    position: NDArray[np.float64],
    known: NDArray[np.int64],
    values: NDArray[np.float64],
    marks: Sequence[Mark],
    interval: float,
) -> str:
    """What happens at this row: ``run`` (another starts), ``resume`` or nothing."""
    here = int(np.searchsorted(known, place))
    first = int(np.searchsorted(known, current.start))
    at_mark = [mark for mark in marks if mark.row == place]
    resumed = any(mark.kind == "resume" for mark in at_mark)
    started = [mark for mark in at_mark if mark.kind == "run"]
    strong = any(mark.data.get("strong") for mark in started)
    if here >= known.size or first >= here:
        # No step on one side: only what the lines say counts.
        has_rows = place > current.start
        return "run" if strong and has_rows else "resume" if resumed and has_rows and first < here else ""
    before, after, start = float(values[here - 1]), float(values[here]), float(values[first])
    fell = after < before
    if resumed and not strong and not (fell and after <= start and start > 0 and after < start):
        return "resume"
    if strong or after == before == start:
        return "run"
    if not fell:
        return "resume" if started and after > before else ""
    back_at_start = after <= start + interval * 0.5 or after <= 1
    gap = any(mark.kind == "gap" and place - 1 <= mark.row <= place for mark in marks)
    if started or back_at_start or gap:
        return "run"
    return "resume"


def _marked(marks: Sequence[Mark], place: int, position: NDArray[np.float64], current: _Open) -> bool:
    """Whether a line says that the run was resumed, here or since the last row with a step."""
    return any(mark.kind in ("resume", "run") and mark.row == place for mark in marks)


def _name_at(marks: Sequence[Mark], row: int) -> str:
    """The name that a run mark right before this row gives; strong marks (a fold) are joined to the heading above them."""
    names = [str(mark.data["name"]) for mark in marks if mark.kind == "run" and mark.row == row and mark.data.get("name")]
    return " · ".join(dict.fromkeys(names[-2:]))


def _two_writers(position: NDArray[np.float64], known: NDArray[np.int64]) -> list[Segment] | None:
    """Two increasing chains that take turns, or None when two are not enough."""
    chains: list[list[int]] = [[], []]
    last = [-np.inf, -np.inf]
    values = position[known]
    # Writers that take turns each move by this much from one of their rows to the next.
    stride = median(np.abs(values[2:] - values[:-2]))
    for row in known.tolist():
        value = float(position[row])
        fits = [which for which in (0, 1) if value > last[which]]
        if not fits:
            return None
        which = max(fits, key=lambda one: last[one])
        if len(fits) == 2 and not chains[1] and chains[0] and value - last[0] > FAR_INTERVALS * stride:
            which = 1
        chains[which].append(row)
        last[which] = value
    if min(len(chain) for chain in chains) < MIN_FALLS_FOR_TWO_WRITERS:
        return None
    owner = np.zeros(position.size, dtype=np.int64)
    owner[chains[1]] = 1
    # A row without a step goes with the row before it.
    index = np.where(np.isfinite(position), np.arange(position.size), 0)
    np.maximum.accumulate(index, out=index)
    owner = owner[index]
    note = Note("two-writers", "two runs write to this log in turn; they were taken apart by their steps")
    return [Segment(np.flatnonzero(owner == which), f"writer {which + 1}", [], [note]) for which in (0, 1)]
