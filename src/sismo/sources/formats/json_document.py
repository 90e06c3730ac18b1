"""One JSON document: a list of rows, a dictionary of columns (Keras ``history.json``), or either somewhere inside an object."""

from __future__ import annotations

import json

from sismo.errors import MalformedLog
from sismo.records.types import Note, Run
from sismo.sources.base import Content, Format, Sample, Table
from sismo.sources.document import fill
from sismo.sources.objects import salvage
from sismo.sources.rows import RowBuilder


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
        fill(builder, document)
        return [builder.table()]


FORMAT = JsonDocument()
