"""Tables in text: model cards (``| Step | Training Loss | Validation Loss |``) and notebooks (``epoch  train_loss  valid_loss``)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sismo.sources.cells import Cell
from sismo.sources.keys import is_loss
from sismo.sources.line import Line, TextLog
from sismo.sources.numbers import NUMBER, number

_GAP = re.compile(r"\s{2,}|\t")
_BAR = re.compile(r"\s*\|\s*")
_WORD = re.compile(r"\S+")
_NUMBER = re.compile(NUMBER)
_GROUPED = re.compile(r"[-+]?[\d.]*,[\d.,]*")
_NO_NAME = re.compile(r"[=:{}\[\];,]|\d\.\d|\s\d+$|^\d|\b(?:nan|inf)\b", re.IGNORECASE)
_RULE = re.compile(r"^[\s|:+=-]+$")


def under(line: str, names: Sequence[str]) -> Sequence[Cell]:
    """The numbers of a row; none when hardly any cell is one. "No log" is how Hugging Face prints a missing loss."""
    places = _places(line)
    if len(places) < len(names) and len(words := [one.span() for one in _WORD.finditer(line)]) == len(names):
        places = words  # two wide numbers have met
    found: list[Cell] = []
    numbers = 0
    for name, (start, end) in zip(names, places, strict=False):
        text = line[start:end]
        numeral = _NUMBER.match(text)
        if number(text) is not None and numeral is not None:
            found.append(Cell(name, start, start + numeral.end()))
            numbers += 1
        elif _GROUPED.fullmatch(text):
            found.append(Cell(name, start, end))  # "12,34" is no number, and "1,234" in its place is one
    return found if len(places) == len(names) and 2 * numbers >= len(places) else ()


def read(line: str, log: TextLog) -> bool:
    if "table" in log.headings:
        if _RULE.match(line):
            return True
        log.close_heading("table")
    cells = [line[start:end] for start, end in _places(line)]
    if len(cells) > 1 and any(is_loss(cell) for cell in cells) and not any(_NO_NAME.search(cell) or len(cell) > 40 for cell in cells):
        log.open_heading("table", cells)
        return True
    return False


def _places(line: str) -> list[tuple[int, int]]:
    """Where the cells of a line stand."""
    at, end = _stripped(line, 0, len(line), None)
    # Copied from a notebook, a table has bars between its columns and none around them.
    gap = _BAR if line.startswith("|", at) or " | " in line else _GAP
    if gap is _BAR:
        at, end = _stripped(line, *_stripped(line, at, end, "|"), None)
    places: list[tuple[int, int]] = []
    for found in gap.finditer(line, at, end):
        places.append((at, found.start()))
        at = found.end()
    return [*places, (at, end)]


def _stripped(line: str, start: int, end: int, edge: str | None) -> tuple[int, int]:
    """The stretch without these letters, or blanks, at either side."""
    at = end - len(line[start:end].lstrip(edge))
    return at, at + len(line[at:end].rstrip(edge))


LINE = Line("table", "| Step | Training Loss | then | 500 | 2.1 |", ("|", "  ", "\t"), 88, read, under=under)
