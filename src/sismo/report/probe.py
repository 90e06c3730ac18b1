"""What a probe found, as text and as JSON."""

from __future__ import annotations

import json

from sismo.postmortem import Text
from sismo.records.probing import RANGE, ProbeReport
from sismo.records.types import Note
from sismo.report.columns import columns
from sismo.report.page import Page

SCHEMA = "sismo.probe/1"
_SHOWN = 16
"""Rows of a table that are printed without ``--verbose``: what ran last before the fault is nearest to it."""


def render(found: ProbeReport, page: Page) -> str:
    """Verdict, what it rests on, and the table."""
    mark, tone = ("broken", "red") if found.found else ("unknown", "yellow") if found.open else ("healthy", "green")
    lead = f"{page.mark(mark)} "
    lines = page.hang(lead, _said(found.verdict, page))
    lines = [page.paint(line, tone, "bold") for line in lines]
    for note in found.notes:
        lines += page.hang(f"  {page.mark('bullet')} ", _said(note, page))
    if found.rows:
        lines += ["", *_table(found, page)]
    return "\n".join(line.rstrip() for line in lines)


def render_json(found: ProbeReport, version: str, page: Page) -> str:
    """The same as data."""
    rows = [dict(zip(found.columns, row, strict=True)) for row in found.rows]
    document = {
        "schema": SCHEMA, "sismo": version, "probe": found.probe, "found": found.found, "open": found.open,
        "verdict": _said(found.verdict, page), "data": dict(found.data), "notes": [_said(note, page) for note in found.notes], "rows": rows,
    }  # fmt: skip
    return json.dumps(document, indent=2, default=str)


def _said(note: Note, page: Page) -> str:
    return page.say(Text(note.text, note.numbers))


def _table(found: ProbeReport, page: Page) -> list[str]:
    until = len(found.rows) if found.until is None or page.verbose else found.until
    first = 0 if page.verbose else max(0, until - _SHOWN)
    head, *rows = columns([[_cell(cell, page) for cell in row] for row in (found.columns, *found.rows[first:until])], page.width)
    fill, after = page.language.fill, len(found.rows) - until
    before = [page.paint("  " + fill("({count} earlier {count:row|rows}: --verbose)", count=first), "dim")] if first else []
    later = [page.paint("  " + fill("({count} later {count:row|rows}: --verbose)", count=after), "dim")] if after else []
    return [*(page.paint(line, "dim") for line in head), *before, *(line for row in rows for line in row), *later]


def _cell(cell: str, page: Page) -> str:
    """A name or a number as it is, a word in the language of the page, and a range with its word between."""
    low, to, high = cell.partition(RANGE)
    return f"{low} {page.word('to')} {high}" if to else page.word(cell)
