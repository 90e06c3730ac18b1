"""One JSON document: a list of rows, a dictionary of columns (Keras ``history.json``), or either somewhere inside an object."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import cast

from sismo.errors import MalformedLog
from sismo.records.types import Note, Run
from sismo.sources.base import Content, Format, Sample, Table
from sismo.sources.keys import is_loss
from sismo.sources.numbers import value_of
from sismo.sources.objects import add_record, salvage
from sismo.sources.rows import MAX_DEPTH, RowBuilder, flatten


class JsonDocument(Format):
    name = "json-document"
    about = "one JSON document: a list of rows, a dictionary of columns, or either inside an object"

    def score(self, sample: Sample) -> int:
        text = sample.text.lstrip()
        if not text.startswith(("{", "[")) or sample.is_dir:
            return 0
        if text.startswith("[") and text[1:].lstrip()[:1] not in ("{", "["):
            return 0
        if text.startswith("{") and text[1:].lstrip()[:1] not in ('"', "}"):
            return 0
        return 70 if sample.name.endswith(".json") else 50

    def read(self, content: Content) -> list[Table | Run]:
        text = content.text()
        note: Note | None = None
        try:
            document: object = json.loads(text)
        except (ValueError, RecursionError):
            document = rows = salvage(text)
            if not rows:
                raise MalformedLog(
                    content.label, "the JSON is cut off or broken and no complete row could be read; give a complete file"
                ) from None
            note = Note(
                "partial-log",
                "the JSON is broken; {count} {count:row before the break was|rows before the break were} read",
                {"count": len(rows)},
            )
        builder = RowBuilder("json-document")
        if note is not None:
            builder.notes.append(note)
        _fill(builder, document)
        return [builder.table()]


def _fill(builder: RowBuilder, document: object) -> None:
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


FORMAT = JsonDocument()
