"""Rows that arrive one by one, each with its own keys, gathered into a ``Table``."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sismo.records.types import Note
from sismo.sources.base import Column, Mark, Table

MAX_KEYS = 2000
"""Keys beyond this are not kept: a log that names every row differently would otherwise need rows x keys of memory."""


_TOGETHER = 1024
"""Rows that are put into their columns in one go."""

MAX_DEPTH = 12
"""Levels of nested objects that are read; a deeper one is no log."""


class _Waiting(NamedTuple):
    """Rows with the same keys that are not in their columns yet."""

    rows: list[int]
    values: list[float]


class RowBuilder:
    """Collects rows, marks, configuration and notes; ``table()`` ends it."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.n_rows = 0
        self.marks: list[Mark] = []
        self.config: dict[str, object] = {}
        self.notes: list[Note] = []
        self.skipped = 0
        self._cells: dict[str, tuple[array[int], array[float]]] = {}
        self._waiting: dict[tuple[str, ...], _Waiting] = {}
        self._gather_at = _TOGETHER
        self._refused: set[str] = set()

    def add(self, values: Mapping[str, float]) -> int:
        """Appends a row and returns its index."""
        row = self.n_rows
        self.n_rows += 1
        self.join(row, values)
        return row

    def join(self, row: int, values: Mapping[str, float]) -> None:
        """Sets cells that a row which exists lacks."""
        keys = tuple(values)
        waiting = self._waiting.get(keys)
        if waiting is None:
            for key in keys:  # the columns stand in the order in which they come
                self._cells_of(key)
            waiting = self._waiting[keys] = _Waiting([], [])
        waiting.rows.append(row)
        waiting.values.extend(values.values())
        if self.n_rows >= self._gather_at:
            self._gather()

    def put(self, row: int, key: str, value: float) -> None:
        """Sets one cell of a row that exists; a cell that is set twice keeps the later value."""
        self._gather()
        self._set(row, [(key, value)])

    def _set(self, row: int, values: Iterable[tuple[str, float]]) -> None:
        for key, value in values:
            cells = self._cells_of(key)
            if cells is not None:
                cells[0].append(row)
                cells[1].append(value)

    def extend(self, rows: NDArray[np.int64], columns: Mapping[str, NDArray[np.float64]]) -> None:
        """Sets keys of many rows that exist, in rising order: a column of values for each key."""
        self._gather()
        self._extend(rows, columns)

    def _extend(self, rows: NDArray[np.int64], columns: Mapping[str, NDArray[np.float64]]) -> None:
        if not rows.size:
            return
        places = rows.astype(np.int32).tobytes()
        for key, values in columns.items():
            cells = self._cells_of(key)
            if cells is not None:
                cells[0].frombytes(places)
                cells[1].frombytes(values.tobytes())

    def _gather(self) -> None:
        """Puts the rows that wait where they belong, those with the same keys together."""
        if not self._waiting:
            return
        waiting, self._waiting, self._gather_at = self._waiting, {}, self.n_rows + _TOGETHER
        for keys, (rows, values) in waiting.items():
            if len(rows) == 1:
                self._set(rows[0], zip(keys, values, strict=True))
                continue
            places, table = np.array(rows, dtype=np.int64), np.array(values, dtype=np.float64).reshape(len(rows), len(keys))
            self._extend(places, dict(zip(keys, table.T, strict=True)))

    def _cells_of(self, key: str) -> tuple[array[int], array[float]] | None:
        cells = self._cells.get(key)
        if cells is None:
            if len(self._cells) >= MAX_KEYS:
                self._refused.add(key)
                return None
            cells = self._cells[key] = (array("i"), array("d"))
        return cells

    def clear(self, row: int) -> None:
        """Empties a row; the row itself stays, so that marks keep their places."""
        self._gather()
        for rows, values in self._cells.values():
            if row in rows:
                at = rows.index(row)
                del rows[at], values[at]

    def drop_lone(self, key: str) -> None:
        """Forgets a key that has a single value."""
        self._gather()
        if key in self._cells and len(self._cells[key][0]) == 1:
            del self._cells[key]

    def mark(self, kind: str, **data: object) -> None:
        """Places a mark before the next row."""
        self.marks.append(Mark(self.n_rows, kind, data))

    def keys(self) -> list[str]:
        """The keys seen so far, in order of appearance."""
        return list(self._cells)

    def table(self, dialect: str = "") -> Table:
        """Everything gathered so far as a table."""
        self._gather()
        notes = list(self.notes)
        if self.skipped:
            notes.append(
                Note("skipped-lines", "{count} {count:line|lines} could not be read and {count:was|were} skipped", {"count": self.skipped})
            )
        if self._refused:
            notes.append(Note("skipped-keys", "{count} {count:key|keys} beyond the first {limit} {count:was|were} ignored",
                              {"count": len(self._refused), "limit": MAX_KEYS}))  # fmt: skip
        columns: dict[str, Column] = {}
        for key in self.keys():  # one is let go of before the next is made
            rows, values = self._cells.pop(key)
            if rows:
                columns[key] = _column(self.n_rows, rows, values)
        return Table(self.source, self.n_rows, columns, tuple(self.marks), dict(self.config), tuple(notes), dialect)


def _column(n_rows: int, rows: array[int], values: array[float]) -> Column:
    filled = np.full(n_rows, np.nan)
    present = np.zeros(n_rows, dtype=np.bool_)
    index = np.frombuffer(rows, dtype=np.int32)
    filled[index] = np.frombuffer(values, dtype=np.float64)
    present[index] = True
    return Column(filled, present)


def flatten(record: Mapping[str, object], prefix: str = "", depth: int = MAX_DEPTH) -> dict[str, object]:
    """A record with nested objects as one level: ``{"a": {"b": 1}}`` gives ``a/b``. Lists are left as they are."""
    flat: dict[str, object] = {}
    for key, value in record.items():
        name = f"{prefix}{key}"
        if isinstance(value, dict) and depth:
            flat.update(flatten(value, f"{name}/", depth - 1))  # pyright: ignore[reportUnknownArgumentType]
        else:
            flat[name] = value
    return flat
