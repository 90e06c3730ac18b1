"""A line that says that part of the log was left out: ``[... 300 lines truncated ...]``."""

from __future__ import annotations

import re

from sismo.records.types import Note
from sismo.sources.line import Line, TextLog

_GAP = re.compile(r"^\s*(?:\[|<|\()?\s*(?:\.\.\.|…)\s*.{0,60}\b(?:cut|truncated|omitted|snipped?|skipped|removed|elided)\b", re.IGNORECASE)


def read(line: str, log: TextLog) -> bool:
    if not _GAP.match(line):
        return False
    if not any(note.code == "partial-log" for note in log.rows.notes):
        log.rows.notes.append(Note("partial-log", "a line says that part of the log was left out"))
    log.mark("gap")
    return True


LINE = Line("gap", "[... 300 lines truncated ...]", ("...", "…"), 7, read, marker=True)
