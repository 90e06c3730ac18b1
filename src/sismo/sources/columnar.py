"""Big, regular JSON-lines files read column by column with pyarrow: a million rows in about a second.

Only what is certain to give what the tolerant reader gives is taken: rows of numbers and nulls, nested or not, beside words that are no
numbers. For anything else, and on any error, ``read_columns`` returns None and the caller reads line by line.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from sismo.records.arrow import floats
from sismo.sources.base import Column, Table
from sismo.sources.numbers import number
from sismo.sources.objects import SETTINGS_WITHIN, SPLIT_KEYS, is_config
from sismo.sources.rows import MAX_DEPTH

BLOCK_BYTES = 8 * 1024 * 1024
PROBE_BYTES = 256 * 1024


def read_columns(path: Path) -> Table | None:
    """The file as a table, or None when it is not as regular as it must be."""
    if not _regular(path):
        return None
    try:
        import pyarrow
        import pyarrow.json
    except ImportError:
        return None
    columns: dict[str, Column] = {}
    try:
        options = pyarrow.json.ReadOptions(use_threads=False, block_size=BLOCK_BYTES)
        parsed: Any = pyarrow.json.read_json(path, read_options=options)
        filled = np.zeros(parsed.num_rows, dtype=np.bool_)
        kind = pyarrow.types
        for name, leaf in _leaves(zip(parsed.column_names, parsed.columns, strict=True), MAX_DEPTH):
            if kind.is_string(leaf.type) and name not in SPLIT_KEYS and not _may_be_numbers(leaf):
                continue
            if kind.is_null(leaf.type) or kind.is_timestamp(leaf.type):
                continue
            if not (kind.is_floating(leaf.type) or kind.is_integer(leaf.type)) or name in columns:
                return None
            values, present = floats(leaf)
            if present.any():
                columns[name] = Column(values, present)
                filled |= present
    except (OSError, ValueError, pyarrow.ArrowException):
        return None
    # A row without any number is a note of the tolerant reader; leave such files to it.
    return Table("json-lines", int(parsed.num_rows), columns) if columns and bool(filled.all()) else None


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


def _regular(path: Path) -> bool:
    """Whether the beginning and the end look like rows of numbers and words in UTF-8, one a line, and no configuration before them."""
    size = path.stat().st_size
    with open(path, "rb") as file:
        head = file.read(PROBE_BYTES)
        file.seek(max(0, size - PROBE_BYTES))
        end = file.read(PROBE_BYTES)
    if any(bad in piece for piece in (head, end) for bad in (b"\r", b"\x1b", b"\x00", b"[", b"true", b"false")):
        return False
    try:
        first = [json.loads(line) for line in head.split(b"\n", SETTINGS_WITHIN)[:SETTINGS_WITHIN] if line]
    except ValueError:
        return False
    return all(isinstance(row, dict) and not is_config(row) for row in first) and end.rstrip().endswith(b"}")
