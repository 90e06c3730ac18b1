"""JSON lines read column by column with pyarrow: a million rows in about a second.

Only what is certain to give what the tolerant reader gives is taken, a block of the file at a time: rows of numbers and nulls, nested or
not, beside truths, lists and words that are no numbers. For anything else, and on any error, nothing is taken and the caller reads the
block line by line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from sismo.records.arrow import floats
from sismo.sources.base import Column
from sismo.sources.keys import meaning
from sismo.sources.numbers import number
from sismo.sources.objects import SETTINGS_WITHIN, SPLIT_KEYS, prefix_of, side
from sismo.sources.rows import MAX_DEPTH, RowBuilder

_LINE_END, _OPEN, _CLOSE = b"\n{}"


def add_columns(builder: RowBuilder, text: str) -> bool:
    """Adds the rows of whole lines; False, and nothing is added, where they are not as regular as they must be."""
    if builder.n_rows < SETTINGS_WITHIN:
        return False
    data = text.encode()
    lines = _objects(data)
    if not lines:
        return False
    try:
        import pyarrow
        import pyarrow.json
    except ImportError:
        return False
    try:
        options = pyarrow.json.ReadOptions(use_threads=False, block_size=len(data) + 1)
        parsed: Any = pyarrow.json.read_json(pyarrow.BufferReader(data), read_options=options)
        numbers, words = _columns(parsed)
    except (ValueError, pyarrow.ArrowException):
        return False
    # A row without any number is a note of the tolerant reader, or a setting; leave them to it.
    some = np.logical_or.reduce([one.present for one in numbers.values()]) if numbers else np.zeros(1, dtype=np.bool_)
    if parsed.num_rows != lines or not some.all():
        return False
    sided = _by_side(numbers, words) if words is not None else {key: [one] for key, one in numbers.items()}
    for key, parts in sided.items():
        for values, present in parts:
            rows = np.flatnonzero(present)
            builder.extend(builder.n_rows + rows, {key: values if rows.size == values.size else values[rows]})
    builder.n_rows += parsed.num_rows
    return True


def _objects(data: bytes) -> int:
    """How many lines there are where each of them begins and ends as an object does, else 0."""
    if not data.startswith(b"{") or not data.endswith(b"}"):
        return 0
    each = np.frombuffer(data, dtype=np.uint8)
    ends = np.flatnonzero(each == _LINE_END)
    return ends.size + 1 if bool(np.all((each[ends - 1] == _CLOSE) & (each[ends + 1] == _OPEN))) else 0


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
