"""The table inside nested lists and objects, whatever file they came from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from sismo.sources.keys import is_loss
from sismo.sources.numbers import value_of
from sismo.sources.objects import add_record
from sismo.sources.rows import MAX_DEPTH, RowBuilder, flatten


def fill(builder: RowBuilder, document: object) -> None:
    """Adds the rows that are somewhere in a document: a list of objects, an object of columns, or the document itself."""
    rows = _rows_in(document, 0)
    if rows is not None:
        for row in rows:
            if not isinstance(row, dict) or not add_record(builder, cast("dict[str, object]", row)):
                builder.skipped += 1
        if isinstance(document, dict):
            _settings(builder, cast("dict[str, object]", document))
        return
    columns = _columns_in(document, 0)
    if columns is not None:
        for at in range(max(len(column) for column in columns.values())):
            builder.add({key: cell for key, column in columns.items() if at < len(column) and (cell := value_of(column[at])) is not None})
        return
    if isinstance(document, dict):
        add_record(builder, cast("dict[str, object]", document))


def _rows_in(document: object, depth: int) -> Sequence[object] | None:
    """The longest list of objects in the document, at the shallowest level that has one."""
    if isinstance(document, list):
        items = cast("list[object]", document)
        return items if any(isinstance(item, dict) for item in items[:10]) else None
    if not isinstance(document, dict) or depth >= MAX_DEPTH:
        return None
    found = [rows for value in cast("dict[str, object]", document).values() if (rows := _rows_in(value, depth + 1)) is not None]
    return max(found, key=len, default=None)


def _columns_in(document: object, depth: int) -> Mapping[str, Sequence[object]] | None:
    """The first object whose values are lists of numbers, or objects from row number to number as pandas writes them."""
    if not isinstance(document, dict) or depth >= MAX_DEPTH:
        return None
    record = cast("dict[str, object]", document)
    columns: dict[str, Sequence[object]] = {}
    for key, value in record.items():
        if isinstance(value, list) and value and not isinstance(value[0], dict | list):
            columns[key] = cast("list[object]", value)
        elif isinstance(value, dict) and value and all(str(at).isdigit() for at in list(cast("dict[str, object]", value))[:5]):
            columns[key] = list(cast("dict[str, object]", value).values())
    if any(is_loss(key) for key in columns):
        return columns
    inside = [found for value in record.values() if (found := _columns_in(value, depth + 1)) is not None]
    return inside[0] if inside else columns or None


def _settings(builder: RowBuilder, document: dict[str, object]) -> None:
    simple = {key: value for key, value in flatten(document, depth=2).items() if isinstance(value, str | int | float | bool)}
    builder.config.update(dict(list(simple.items())[:200]))
