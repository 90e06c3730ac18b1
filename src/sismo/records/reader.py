"""Reads a run folder, finished or not: parts, then the rows of the tail that no part has yet."""

from __future__ import annotations

import json
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray

from sismo.errors import RunFormatError
from sismo.records.migrate import migrate
from sismo.records.parts import Columns, read_part, tail_columns
from sismo.records.schema import EVENTS, MANIFEST, METRICS, TAIL, header_from_json, parts_in, read_manifest, writer_of
from sismo.records.tail import read_tail
from sismo.records.types import Event, Note, Run, Series


def read_run(path: str | Path) -> Run:
    """The run in a folder. A run whose writer is gone without closing it has the status ``crashed``.

    Raises ``RunFormatError`` when the folder breaks the format.
    """
    folder = Path(path)
    manifest = migrate(read_manifest(folder), str(folder / MANIFEST))
    status = manifest.get("status")
    if status == "running" and writer_of(folder) is None:
        status = "crashed"
    header = manifest.get("header")
    notes: list[Note] = []
    blocks = _blocks(folder, notes)
    events = _events(folder / EVENTS, notes)
    return Run(
        str(path),
        header_from_json(
            cast("dict[str, object]", header) if isinstance(header, dict) else {}, status if isinstance(status, str) else None
        ),
        _series(blocks),
        tuple(sorted(events, key=lambda event: event.step)),
        tuple(notes),
    )


def _blocks(folder: Path, notes: list[Note]) -> list[tuple[NDArray[np.int64], Columns]]:
    blocks: list[tuple[NDArray[np.int64], Columns]] = []
    # Before the parts: rows that become a part meanwhile are seen twice, and told by their numbers, instead of not at all.
    rows, broken = read_tail(folder / METRICS / TAIL)
    last = -1
    for first, end, path in parts_in(folder):
        if end <= last:
            continue
        try:
            blocks.append(read_part(path))
        except (OSError, ValueError) as error:
            raise RunFormatError(str(path), f"a Parquet file with a column step ({error})") from error
        last = max(last, end, first)
    rows = [row for row in rows if row.number > last]
    if rows:
        blocks.append(tail_columns(rows))
    if broken:
        notes.append(Note("skipped-lines", "{count} rows of the tail could not be read and were skipped", {"count": broken}))
    return blocks


def _series(blocks: list[tuple[NDArray[np.int64], Columns]]) -> dict[str, Series]:
    if not blocks:
        return {}
    steps = np.concatenate([block[0] for block in blocks])
    kept = _kept(steps)
    whole = bool(np.all(np.diff(steps) > 0))
    channels = list(dict.fromkeys(channel for _, columns in blocks for channel in columns))
    series: dict[str, Series] = {}
    for channel in channels:
        # Taken out of the blocks, so that a run is not in memory twice.
        parts = [columns.pop(channel, None) or (np.full(at.size, np.nan), np.zeros(at.size, np.bool_)) for at, columns in blocks]
        values = np.concatenate([part[0] for part in parts])
        present = kept & np.concatenate([part[1] for part in parts])
        if whole and bool(present.all()):
            series[channel] = Series(channel, steps, values)  # no copy: sixty channels share the steps of a million rows
            continue
        at, found = steps[present], values[present]
        # Rows of one step are next to each other, and the later value of a channel is the one that counts.
        last = np.append(np.diff(at) != 0, True) if at.size else np.zeros(0, np.bool_)
        if at.size:
            series[channel] = Series(channel, at[last], found[last])
    return series


def _kept(steps: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Rows that count: when a run goes back to an earlier step, what was logged from that step on is replaced."""
    if steps.size < 2:
        return np.ones(steps.size, np.bool_)
    none = np.iinfo(np.int64).max
    # The step that each row goes back to, and the smallest such step among the rows after each row.
    gone_back_to = np.append(np.where(np.diff(steps) < 0, steps[1:], none), none)
    smallest = np.minimum.accumulate(gone_back_to[::-1])[::-1]
    return (smallest == none) | (steps < smallest)


def _events(path: Path, notes: list[Note]) -> list[Event]:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return []
    events: list[Event] = []
    broken = 0
    for line in data.split(b"\n")[:-1]:
        try:
            record = cast("dict[str, object]", json.loads(line))
            step, kind = record["step"], record["kind"]
            content = dict(cast("dict[str, object]", record.get("data") or {}))
            if not isinstance(step, int) or not isinstance(kind, str):
                raise ValueError("not an event")
        except (ValueError, KeyError, TypeError, AttributeError):
            broken += bool(line)
            continue
        events.append(Event(step, kind, content))
    if broken:
        notes.append(Note("skipped-lines", "{count} events could not be read and were skipped", {"count": broken}))
    return events
