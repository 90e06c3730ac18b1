"""Tables of foreign keys become runs: channels named, steps found, runs and resumes told apart, remarks made."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sismo.errors import UnrecognisedLog
from sismo.records.types import Event, Note, Run, Series
from sismo.sources.axis import MAX_STEP, Axis, find_axis
from sismo.sources.bare_scale import bare_scale
from sismo.sources.base import Column, Table
from sismo.sources.events import events_of, loss_scale_from, marks_of
from sismo.sources.header import read_header
from sismo.sources.keys import meaning, tokens
from sismo.sources.naming import Naming, check_mapping, name_channels
from sismo.sources.remarks import remarks
from sismo.sources.split import Segment, split

_NO_PRINT = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_EVIDENCE = ("loss/", "loss_val/", "loss_term", "loss_scale", "skipped", "nonfinite", "grad_norm/")
_REPLACED = 20
"""Losses before a resume that are kept where their steps were logged again."""
_EVIDENCE_EVENTS = frozenset({"overflow", "warning", "nonfinite", "skipped_step"})


_NO_LOG = "nothing in it looks like a training log, which has lines such as 'step 100 loss 2.31' or a table with a column for the loss"


class _Source(NamedTuple):
    """One channel before it is cut into runs."""

    channel: str
    key: str
    column: Column


def assemble(label: str, tables: Sequence[Table], mapping: Mapping[str, str]) -> list[Run]:
    """All runs in the tables, in order.

    Raises ``UsageError`` for a mapping that names nothing and ``UnrecognisedLog`` when no run has a loss or other evidence.
    """
    tables = [_printable(table) for table in tables]
    if mapping:
        check_mapping(mapping, (key for table in tables for key in table.columns))
    runs = [run for table in tables for run in _runs_of(label, table, mapping)]
    useful = [run for run in runs if has_evidence(run)]
    if not useful:
        keys = [key for table in tables for key in table.columns if not key.startswith("@")]
        seen = f"columns seen: {', '.join(dict.fromkeys(keys[:12]))}; name it with --map loss/train=COLUMN" if keys else _NO_LOG
        raise UnrecognisedLog(label, f"no loss found: {seen}")
    if len(useful) > 1:
        note = Note("several-runs", "{count} runs were found in {path}", {"count": len(useful), "path": label})
        useful = [Run(run.path, run.header, run.series, run.events, (*run.notes, note)) for run in useful]
    return useful


def _printable(table: Table) -> Table:
    """The table with control characters in its keys written out: they go into reports, and must not steer a terminal."""
    if all(key.isprintable() for key in table.columns):
        return table
    return table._replace(columns={_NO_PRINT.sub(lambda found: repr(found[0])[1:-1], key): one for key, one in table.columns.items()})


def has_evidence(run: Run) -> bool:
    """Whether there is anything to judge: a loss, a gradient norm, a loss scale, or events that tell of trouble."""
    return any(name.startswith(_EVIDENCE) for name in run.series) or any(event.kind in _EVIDENCE_EVENTS for event in run.events)


def _runs_of(label: str, table: Table, mapping: Mapping[str, str]) -> list[Run]:
    columns, config = _without_summary(table)
    counts = {key: int(np.count_nonzero(column.present)) for key, column in columns.items() if not key.startswith("@")}
    naming = name_channels(counts, mapping)
    if (scale := bare_scale(columns)) and "loss_scale" not in naming.channels.values():
        naming.channels[scale] = "loss_scale"
    sources = _sources(columns, naming)
    anchor = _anchor(sources, table.n_rows)
    axis = find_axis(Table(table.source, table.n_rows, columns, table.marks, config), anchor, naming.step_key)
    sources = [source for source in sources if source.channel != "epoch" or source.key not in axis.used or axis.unit == "step"]
    runs: list[Run] = []
    segments = split(axis.position, table.marks, anchor)
    for which, segment in enumerate(segments):
        steps, kept, overlaps = _steps(axis, segment, table.source)
        series, duplicates = _series(sources, segment, steps, kept)
        series = {name: one for name, one in series.items() if not _echoes(name, one, series)}
        marks = marks_of(table.marks, segments, which)
        events, event_notes = events_of(marks, segment, steps, anchor)
        events += _resumes(overlaps, _all_replaced(sources, segment, kept))
        if (scale := loss_scale_from(events, series.get("loss_scale"))) is not None:
            series["loss_scale"] = scale
        name = " · ".join(part for part in (str(config.get("log_file", "")), segment.name) if part)
        header = read_header(table.source, name, config, total=axis.total, unit=axis.unit, objective=naming.objective)
        notes = [*table.notes, *naming.notes, *axis.notes, *segment.notes, *event_notes]
        if overlaps:
            numbers = {"count": len(overlaps), "overlap": sum(one[1] for one in overlaps)}
            notes.append(
                Note(
                    "resumed",
                    "the run was taken up again {count} {count:time|times}; "
                    "{overlap} {overlap:row that was|rows that were} logged twice {overlap:was|were} replaced",
                    numbers,
                )
            )
        if duplicates:
            notes.append(_repeated(duplicates, max(len(one) for one in series.values())))
        notes.extend(_beyond_counting(columns))
        notes.extend(remarks(series, axis.unit))
        ordered = tuple(sorted(events, key=lambda event: event.step))
        runs.append(Run(label, header, series, ordered, tuple(notes)))
    return runs


def _repeated(duplicates: int, steps: int) -> Note:
    """The remark on rows that repeat a step: a few are an accident, as many as there are steps are another writer."""
    if duplicates % steps:
        return Note(
            "duplicate-steps",
            "{count} {count:row repeats the step before it|rows repeat the step before them}; the last of each was kept",
            {"count": duplicates},
        )
    return Note(
        "duplicate-steps",
        "each step comes {times} times, as it does where several ranks write one file; the last row of each was kept",
        {"times": duplicates // steps + 1},
    )


def _beyond_counting(columns: Mapping[str, Column]) -> list[Note]:
    for key, column in columns.items():
        if meaning(key).role == "step" and bool(np.any(column.present & np.isfinite(column.values) & (np.abs(column.values) >= MAX_STEP))):
            return [Note("step-too-large", "{key} is 2**53 or more on some rows: such steps cannot be told apart and were not used",
                         {"key": key})]  # fmt: skip
    return []


def _without_summary(table: Table) -> tuple[dict[str, Column], dict[str, object]]:
    """HF's closing row holds the mean loss of the whole run as ``train_loss``: a fact about the run, not a point of its curve."""
    columns, config = dict(table.columns), dict(table.config)
    runtime = next((columns[key] for key in columns if tokens(key)[-2:] == ["train", "runtime"]), None)
    if runtime is not None:
        for key, column in table.columns.items():
            if set(tokens(key)) == {"train", "loss"} and (both := column.present & runtime.present).any():
                config["summary_train_loss"] = float(column.values[np.flatnonzero(both)[-1]])
                columns[key] = Column(column.values, column.present & ~runtime.present)
    return columns, config


def _sources(columns: Mapping[str, Column], naming: Naming) -> list[_Source]:
    sources: list[_Source] = []
    for channel, keys in naming.sums.items():
        parts = [columns[key] for key in keys]
        present = np.logical_and.reduce([part.present for part in parts])
        with np.errstate(invalid="ignore", over="ignore"):
            total = np.sum([part.values for part in parts], axis=0)
        sources.append(_Source(channel, " + ".join(keys), Column(total, present)))
    sources += [_Source(channel, key, columns[key]) for channel, key in naming.aliases.items()]
    with np.errstate(invalid="ignore", divide="ignore"):
        sources += [
            _Source(channel, key, columns[key]._replace(values=np.log(columns[key].values))) for channel, key in naming.logs.items()
        ]
    sources += [_Source(channel, key, columns[key]) for key, channel in naming.channels.items()]
    order = {"loss/train": 0, "loss/val": 1}
    return sorted(sources, key=lambda source: order.get(source.channel, 2))


def _anchor(sources: Sequence[_Source], n_rows: int) -> NDArray[np.bool_]:
    """The rows that count as rows of the run: those with the training loss, else the validation loss, else any gradient norm or loss."""
    for wanted in ("loss/train", "loss/val", "grad_norm/pre", "loss_scale"):
        for source in sources:
            if source.channel == wanted and source.column.present.any():
                return source.column.present
    return np.ones(n_rows, dtype=np.bool_)


def _steps(axis: Axis, segment: Segment, source: str) -> tuple[NDArray[np.int64], NDArray[np.bool_], list[tuple[int, int, bool]]]:
    """Step of each row of a run, which rows still count, and per resume its step, the rows that it replaced and whether it was marked."""
    rows = segment.rows
    kept = np.ones(rows.size, dtype=np.bool_)
    overlaps: list[tuple[int, int, bool]] = []
    if axis.counted:
        counted = np.cumsum(axis.anchor[rows])
        steps = np.maximum(counted - 1, 0) if source == "csv" else counted * axis.interval
        for row, marked in segment.seams:
            at = int(np.searchsorted(rows, row))
            overlaps.append((int(steps[min(at, rows.size - 1)]), 0, marked))
        return steps.astype(np.int64), kept, overlaps
    position = axis.position[rows]
    known = np.isfinite(position)
    if not known.any():
        return np.maximum(np.cumsum(axis.anchor[rows]), 1).astype(np.int64), kept, overlaps
    if not known.all():
        index = np.where(known, np.arange(rows.size), -1)
        np.maximum.accumulate(index, out=index)
        index[index < 0] = int(np.argmax(known))
        position = position[index]
    steps = position.astype(np.int64)
    for row, marked in segment.seams:
        at = int(np.searchsorted(rows, row))
        after = np.flatnonzero(known[at:])
        if not after.size:
            continue
        step = int(steps[at + int(after[0])])
        replaced = kept[:at] & (steps[:at] >= step)
        kept[:at] &= ~replaced
        overlaps.append((step, int(np.count_nonzero(replaced & axis.anchor[rows[:at]])), marked))
    return steps, kept, overlaps


def _series(
    sources: Sequence[_Source], segment: Segment, steps: NDArray[np.int64], kept: NDArray[np.bool_]
) -> tuple[dict[str, Series], int]:
    """The series of one run, and how many rows of the main loss repeated a step."""
    series: dict[str, Series] = {}
    duplicates = 0
    whole = bool(kept.all())
    rows = segment.rows
    if rows.size and int(rows[-1]) - int(rows[0]) + 1 == rows.size:  # nothing of theirs is copied
        rows = slice(int(rows[0]), int(rows[-1]) + 1)
    before, steps_before = np.ones_like(kept), steps
    for source in sources:
        present = source.column.present[rows]
        if not whole:
            present = present & kept
        if not present.any():
            continue
        if not np.array_equal(present, before):  # most have their rows in common, and share the steps of them
            before, steps_before = present, steps[present]
        at, values = steps_before, source.column.values[rows]
        values = values if values.size == at.size else values[present]
        if at.size > 1 and not bool(np.all(np.diff(at) > 0)):
            order = np.argsort(at, kind="stable")
            at, values = at[order], values[order]
            last = np.append(np.diff(at) > 0, True)
            if source.channel in ("loss/train", "loss/val"):
                duplicates = max(duplicates, int(np.count_nonzero(~last)))
            at, values = at[last], values[last]
        series[source.channel] = Series(source.channel, at, values, "" if source.key == source.channel else source.key)
    return series, duplicates


def _echoes(name: str, one: Series, series: Mapping[str, Series]) -> bool:
    """Whether a term of a loss is that very loss under a second name (``CELoss`` beside ``loss``), rather than one part of it."""
    family, _, _ = name.partition("/")
    whole = series.get({"loss_term": "loss/train", "loss_term_val": "loss/val"}.get(family, ""))
    return (
        whole is not None
        and bool(one.source_key)
        and one.source_key != whole.source_key
        and np.array_equal(one.steps, whole.steps)
        and np.array_equal(one.values, whole.values, equal_nan=True)
    )


def _resumes(overlaps: Sequence[tuple[int, int, bool]], replaced: Sequence[float]) -> list[Event]:
    """The resumes; the first one with the losses that the log had before it, where it replaced them all."""
    found = [Event(step, "resume", {"overlap": overlap, "marked": marked}) for step, overlap, marked in overlaps]
    if found and replaced:
        found[0] = Event(found[0].step, "resume", {**found[0].data, "replaced": list(replaced)})
    return found


def _all_replaced(sources: Sequence[_Source], segment: Segment, kept: NDArray[np.bool_]) -> list[float]:
    """The finite losses before the first row that still counts: those of a log that was pasted from one step twice."""
    loss = next((source.column for source in sources if source.channel == "loss/train"), None)
    if loss is None or kept.all():
        return []
    rows = segment.rows[: int(np.argmax(kept))]
    return [float(value) for value in loss.values[rows][loss.present[rows]][-_REPLACED:] if np.isfinite(value)]
