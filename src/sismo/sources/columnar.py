"""JSON lines read column by column with pyarrow: a million rows in about a second.

Only what is certain to give what the tolerant reader gives is taken: rows of numbers and nulls, nested or not, beside truths, lists and
words that are no numbers. A file that is regular all through is read whole, which is quickest; of any other a block at a time. For anything
else, and on any error, nothing is taken and the caller reads line by line.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sismo.records.arrow import floats
from sismo.sources.base import Column, Table
from sismo.sources.keys import meaning
from sismo.sources.numbers import number
from sismo.sources.objects import SETTINGS_WITHIN, SPLIT_KEYS, is_config, prefix_of, side
from sismo.sources.rows import MAX_DEPTH, RowBuilder

_PROBE_BYTES = 256 * 1024
_BLOCK_BYTES = 8 * 1024 * 1024
_MAX_CELLS = 5_000_000
"""Cells that a file read whole may have: all of them are in memory twice."""


def read_columns(path: Path) -> Table | None:
    """The whole file as a table, or None when it is not as regular as it must be."""
    if not _regular(path):
        return None
    try:
        import pyarrow
        import pyarrow.json
    except ImportError:
        return None
    try:
        options = pyarrow.json.ReadOptions(use_threads=False, block_size=_BLOCK_BYTES)
        parsed: Any = pyarrow.json.read_json(path, read_options=options)
        columns, words = _columns(parsed)
    except (OSError, ValueError, pyarrow.ArrowException):
        return None
    # A row without any number is a note of the tolerant reader; leave such files to it.
    some = np.logical_or.reduce([one.present for one in columns.values()]) if columns else np.zeros(1, dtype=np.bool_)
    return Table("json-lines", int(parsed.num_rows), columns) if words is None and bool(some.all()) else None


def _regular(path: Path) -> bool:
    """Whether the beginning and the end look like rows of numbers and words in UTF-8, one a line, with no configuration before them, and
    the whole is of no size that memory would feel.
    """
    size = path.stat().st_size
    with open(path, "rb") as file:
        head = file.read(_PROBE_BYTES)
        file.seek(max(0, size - _PROBE_BYTES))
        end = file.read(_PROBE_BYTES)
    if any(bad in piece for piece in (head, end) for bad in (b"\r", b"\x1b", b"\x00", b"[", b"true", b"false")):
        return False
    try:
        first = [json.loads(line) for line in head.split(b"\n", SETTINGS_WITHIN)[:SETTINGS_WITHIN] if line]
    except ValueError:
        return False
    if not first or not all(isinstance(row, dict) and not is_config(row) for row in first):
        return False
    cells = max(map(len, first)) * size / (head.find(b"\n") + 1 or size)
    return cells <= _MAX_CELLS and end.rstrip().endswith(b"}")


def add_columns(builder: RowBuilder, text: str) -> bool:
    """Adds the rows of whole lines; False, and nothing is added, where they are not as regular as they must be."""
    ends = text.count("\n")
    an_object_a_line = text.startswith("{") and text.endswith("}") and text.count("}\n{") == ends
    if builder.n_rows < SETTINGS_WITHIN or not an_object_a_line:
        return False
    try:
        import pyarrow
        import pyarrow.json
    except ImportError:
        return False
    try:
        data = text.encode()
        options = pyarrow.json.ReadOptions(use_threads=False, block_size=len(data) + 1)
        parsed: Any = pyarrow.json.read_json(pyarrow.BufferReader(data), read_options=options)
        numbers, words = _columns(parsed)
    except (ValueError, pyarrow.ArrowException):
        return False
    # A row without any number is a note of the tolerant reader, or a setting; leave them to it.
    some = np.logical_or.reduce([one.present for one in numbers.values()]) if numbers else np.zeros(1, dtype=np.bool_)
    if parsed.num_rows != ends + 1 or not some.all():
        return False
    sided = _by_side(numbers, words) if words is not None else {key: [one] for key, one in numbers.items()}
    for key, parts in sided.items():
        for values, present in parts:
            rows = np.flatnonzero(present)
            builder.extend(key, builder.n_rows + rows, values if rows.size == values.size else values[rows])
    builder.n_rows += parsed.num_rows
    return True


def _columns(parsed: Any) -> tuple[dict[str, Column], list[str | None] | None]:
    """The numbers by key, and the words that say of each row whether it is of training or of validation where there are such.

    Raises ValueError where a column is not plainly of numbers, or plainly not.
    """
    from pyarrow import types as kind

    numbers: dict[str, Column] = {}
    words: list[str | None] | None = None
    for name, leaf in _leaves(zip(parsed.column_names, parsed.columns, strict=True), MAX_DEPTH):
        if kind.is_floating(leaf.type) or kind.is_integer(leaf.type):
            if name in numbers:
                raise ValueError(f"{name} comes twice")
            column = Column(*floats(leaf))
            if column.present.any():
                numbers[name] = column
        elif kind.is_string(leaf.type):
            if _may_be_numbers(leaf) or (name in SPLIT_KEYS and words is not None):
                raise ValueError(f"{name} may be read in two ways")
            words = leaf.to_pylist() if name in SPLIT_KEYS else words
        elif not (kind.is_null(leaf.type) or kind.is_timestamp(leaf.type) or kind.is_boolean(leaf.type) or kind.is_list(leaf.type)):
            raise ValueError(f"{name} is of no known type")
    return numbers, words


def _by_side(numbers: Mapping[str, Column], words: list[str | None]) -> dict[str, list[Column]]:
    """The same with ``val/`` before the keys of a row that is of validation, as ``add_record`` names them: a part for some of the rows."""
    prefixes = np.array([prefix_of({"mode": word}) for word in words])
    within = np.zeros(prefixes.size, dtype=np.bool_)
    for key, column in numbers.items():
        if meaning(key).role == "epoch":
            within |= column.present
    found: dict[str, list[Column]] = {}
    for prefix in dict.fromkeys(prefixes.tolist()):
        for epochs in (True, False):
            rows = (prefixes == prefix) & (within == epochs)
            for key, column in numbers.items():
                if (here := rows & column.present).any():
                    found.setdefault(side(key, prefix, ("epoch",) if epochs else ()), []).append(Column(column.values, here))
    return found


def _leaves(columns: Iterable[tuple[str, Any]], depth: int, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The columns, those of nested objects by their path, as ``flatten`` has them; deeper ones than it takes as they are."""
    from pyarrow.types import is_struct

    for name, column in columns:
        if depth and is_struct(column.type):
            names = [column.type.field(at).name for at in range(column.type.num_fields)]
            yield from _leaves(zip(names, column.flatten(), strict=True), depth - 1, f"{prefix}{name}/")
        else:
            yield f"{prefix}{name}", column


def _may_be_numbers(column: Any) -> bool:
    """Whether some text of a column is read as a number, or might be once it is clean of codes."""
    return any(text is not None and (number(text) is not None or not text.isprintable()) for text in column.unique().to_pylist())
