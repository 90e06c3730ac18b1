"""The step of every row of a table: from a step counter, from epoch and a counter within it, from the epoch, or by counting rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sismo.records.numeric import median
from sismo.records.types import Note
from sismo.sources.base import Column, Table
from sismo.sources.keys import meaning
from sismo.sources.numbers import value_of

EPOCH_LENGTH_KEY = "@batches"
"""Column in which a line reader puts the stated number of batches in an epoch."""
COUNT_KEY = "@counter"
"""Column in which a line reader puts a counter that lines do not name: within an epoch under its heading, else of the run if it rises."""
BAR_KEY = "@bar"
"""Column in which a line reader puts the count of a progress bar that stood before a row without a step."""
RESTARTS = 0.8
"""Share of new epochs at which a counter must fall back to be one within the epoch."""
MAX_STEP = 2.0**53


class Axis(NamedTuple):
    """Where each row stands.

    Attributes:
        position: float64 per row, NaN where the row says nothing; falls where a run starts again.
        counted: the steps are row numbers, to be counted anew in every run. unit: ``step`` or ``epoch``.
        anchor: rows that count when rows are counted.
        interval: steps between two counted rows. used: the columns that were read as an axis. total: planned steps, if stated.
    """

    position: NDArray[np.float64]
    counted: bool
    unit: str
    anchor: NDArray[np.bool_]
    used: tuple[str, ...] = ()
    total: int | None = None
    interval: int = 1
    notes: Sequence[Note] = ()


def find_axis(table: Table, anchor: NDArray[np.bool_], step_key: str = "") -> Axis:
    """The axis of a table.

    Arguments:
        anchor: the rows that carry the main loss. step_key: the column that the user named as the step, or empty.
    """
    roles = _by_role(table.columns)
    total = _planned(table.columns, roles)
    epoch_key = next(iter(roles["epoch"]), "")
    key = step_key or _best(table.columns, roles["step"], anchor) or _best(table.columns, roles["batch"], anchor)
    if not step_key and (unnamed := _unnamed(table.columns, key, anchor)) is not None:
        return Axis(unnamed, False, "step", anchor, (key, COUNT_KEY), total)
    if key:
        within = key in roles["batch"]
        step = _of_training(_whole(table.columns[key]), anchor)
        if np.isfinite(step).any():
            if (
                epoch_key
                and (joined := _joined(step, _filled(table.columns[epoch_key]), table.columns.get(EPOCH_LENGTH_KEY), within)) is not None
            ):
                return Axis(joined, False, "step", anchor, (key, epoch_key), None)
            if not within or step_key or _goes_on(step[anchor], named=key != COUNT_KEY or EPOCH_LENGTH_KEY in table.columns):
                return Axis(step, False, "step", anchor, (key,), total)
    if BAR_KEY in table.columns and (bar := _bar(table.columns[BAR_KEY], anchor)) is not None:
        return Axis(
            bar,
            False,
            "step",
            anchor,
            (BAR_KEY,),
            total,
            1,
            [Note("guessed-step", "rows have no step; the progress bar before each was taken")],
        )
    if epoch_key:
        column = table.columns[epoch_key]
        epoch = _whole(column)
        # A fraction among the epochs means that none of them is a count of rows.
        if bool(np.isfinite(epoch[column.present]).all()) and _counts_rows(epoch, anchor):
            return Axis(epoch, False, "epoch", anchor, (epoch_key,))
    position = table.columns[epoch_key].values if epoch_key else np.full(table.n_rows, np.nan)
    every = value_of(table.config.get("logging_steps"))
    if every is not None and every > 1 and every == int(every):
        note = Note(
            "guessed-step", "rows have no step; they were counted, {every} steps each, as logging_steps says", {"every": int(every)}
        )
        return Axis(position, True, "step", anchor, (), total, int(every), [note])
    return Axis(position, True, "step", anchor, (), total, 1, [Note("guessed-step", "rows have no step; they were counted instead")])


def _unnamed(columns: Mapping[str, Column], key: str, anchor: NDArray[np.bool_]) -> NDArray[np.float64] | None:
    """The numbers that losses begin with, and between them the steps that only evaluations name, where the two count as one; else None."""
    if key in ("", COUNT_KEY) or COUNT_KEY not in columns or bool(np.any(columns[key].present & anchor)):
        return None
    counted = _whole(columns[COUNT_KEY])
    both = np.where(np.isfinite(counted), counted, _whole(columns[key]))
    known = both[np.isfinite(both)]
    as_one = _goes_on(counted[anchor], named=EPOCH_LENGTH_KEY in columns) and bool(np.all(np.diff(known) >= 0))
    return both if as_one else None


def _by_role(columns: Mapping[str, Column]) -> dict[str, list[str]]:
    roles: dict[str, list[str]] = {"step": [], "batch": [], "epoch": [], "planned": []}
    for key in columns:
        what = meaning(key)
        if what.role in roles and not key.startswith("@"):
            roles[what.role].append(key)
    for keys in roles.values():
        keys.sort(key=lambda key: meaning(key).rank)
    if COUNT_KEY in columns:
        roles["batch"].append(COUNT_KEY)
    return roles


def _best(columns: Mapping[str, Column], keys: list[str], anchor: NDArray[np.bool_]) -> str:
    """The first counter, in order of preference, that about as many loss rows have as any."""
    counts = {key: int(np.count_nonzero(columns[key].present & anchor)) for key in keys}
    most = max(counts.values(), default=0)
    if not most:
        counts = {key: int(np.count_nonzero(columns[key].present)) for key in keys}
        most = max(counts.values(), default=0)
    usable = [key for key in keys if counts[key] >= 0.5 * most and _counts_up(columns[key])]
    return usable[0] if most and usable else ""


def _counts_up(column: Column) -> bool:
    """Whether it moves at all; a ``steps: 100`` that stays the same on every row counts nothing."""
    values = column.values[column.present]
    return values.size < 3 or bool(np.any(values != values[0]))


def _goes_on(step: NDArray[np.float64], *, named: bool) -> bool:
    """Whether a counter of batches counts through the whole run: it never falls back. A bare number has to rise evenly, too."""
    known = step[np.isfinite(step)]
    rises = np.diff(known)
    if known.size < max(3, 0.9 * step.size) or not bool(np.all(rises > 0)):
        return False
    return named or int(np.count_nonzero(rises == median(rises))) > 0.5 * rises.size


def _whole(column: Column) -> NDArray[np.float64]:
    """The values where they are whole numbers that an int64 holds, NaN elsewhere."""
    values = column.values
    with np.errstate(invalid="ignore"):
        good = column.present & np.isfinite(values) & (np.abs(values) < MAX_STEP) & (values == np.floor(values))
    return values if bool(good.all()) else np.where(good, values, np.nan)


def _of_training(step: NDArray[np.float64], anchor: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The counter without the rows between two losses that fall behind both: an evaluation that counts its own (mmengine)."""
    known = np.isfinite(step)
    rows = np.flatnonzero(anchor & known)
    if rows.size < 2 or bool(np.any(np.diff(step[rows]) < 0)):
        return step
    others = np.flatnonzero(~anchor & known)
    after = np.searchsorted(rows, others)
    # Behind the last loss only what goes on as the evaluations before it did.
    between = (after > 0) & ((after < rows.size) | bool(others.size and (after < rows.size).any()))
    behind = others[between & (step[others] < step[rows[np.maximum(after - 1, 0)]])]
    if not behind.size:
        return step
    kept = step.copy()
    kept[behind] = np.nan
    return kept


def _filled(column: Column) -> NDArray[np.float64]:
    """The value of the last row that had one."""
    index = np.where(column.present & np.isfinite(column.values), np.arange(column.values.size), -1)
    np.maximum.accumulate(index, out=index)
    return np.where(index >= 0, column.values[np.maximum(index, 0)], np.nan)


def _joined(step: NDArray[np.float64], epoch: NDArray[np.float64], lengths: Column | None, within: bool) -> NDArray[np.float64] | None:
    """``epoch * length + step`` when the counter starts again with every epoch, or by its name counts ``within`` one; else None."""
    known = np.isfinite(step) & np.isfinite(epoch)
    s, e = step[known], np.floor(epoch[known])
    if s.size < 2:
        return None
    rises = np.diff(e) > 0
    falls = np.diff(s) < 0
    # One batch an epoch leaves the counter where it is, so an epoch of equal counters restarts as well.
    stated = lengths.values[lengths.present & np.isfinite(lengths.values)] if lengths is not None else np.empty(0)
    alone = not rises.any() and (within or bool(stated.size))
    restarts = rises & (falls | ((np.diff(s) == 0) & (s[1:] == s.min())))
    if not alone and (not rises.any() or np.count_nonzero(restarts) < RESTARTS * np.count_nonzero(rises)):
        return None
    interval = median(np.diff(s)[~falls & ~rises]) if (~falls & ~rises).any() else 1.0
    length = float(stated.max()) if stated.size else float(s.max()) + (max(interval, 1.0) if s.min() <= 0 else 0.0)
    length = max(length, float(s.max()) + (1.0 if s.min() <= 0 else 0.0))
    base = 1.0 if float(e.min()) >= 1 else 0.0
    joined = np.full(step.size, np.nan)
    joined[known] = (e - base) * length + s
    return joined


def _planned(columns: Mapping[str, Column], roles: dict[str, list[str]]) -> int | None:
    for key in roles["planned"]:
        values = columns[key].values[columns[key].present]
        values = values[np.isfinite(values) & (values > 0) & (values < MAX_STEP)]
        if values.size:
            return int(values[-1])
    return None


def _bar(column: Column, anchor: NDArray[np.bool_]) -> NDArray[np.float64] | None:
    """The counts of progress bars, where nearly every loss row has one of its own."""
    rows = np.flatnonzero(anchor)
    have = column.present[rows]
    values = column.values[rows][have]
    if not rows.size or have.sum() < 0.9 * rows.size or bool(np.any(np.diff(values) <= 0)) or values[0] <= 0:
        return None
    return np.where(column.present, column.values, np.nan)


def _counts_rows(epoch: NDArray[np.float64], anchor: NDArray[np.bool_]) -> bool:
    """Whether the epoch tells the loss rows apart: whole, and rarely the same twice in a row."""
    rows = np.flatnonzero(anchor) if anchor.any() else np.flatnonzero(np.isfinite(epoch))
    values = epoch[rows]
    known = np.isfinite(values)
    if known.sum() < 0.5 * max(1, values.size):
        return False
    values = values[known]
    if values.size == 1:
        return bool(values[0] >= 1)
    return int(np.count_nonzero(np.diff(values) != 0)) >= RESTARTS * (values.size - 1) or _fits_of_one_row(values)


def _fits_of_one_row(values: NDArray[np.float64]) -> bool:
    """The same last epoch again and again: many fits that print one row each."""
    return values.size > 2 and bool(np.all(values == values[0])) and bool(values[0] > 1)
