"""Text without what says nothing: the codes that colour a terminal, and the graphics of bars."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

_CODES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_])")
_DRAWN = re.compile(r"(?<=%\|)[^|\]A-Za-z]+(?=\|)|(?<=\[)[=>.\s]+(?=\])")


class Bare(NamedTuple):
    """The text of a line that is left, and where in the line each of its letters stands."""

    text: str
    places: Sequence[int]


def without_codes(text: str) -> str:
    """The text without ANSI codes."""
    return _CODES.sub("", text) if "\x1b" in text else text


def without_bars(line: str) -> str:
    """The line without what is drawn of its bars."""
    return _DRAWN.sub("", line)


def bare(line: str) -> Bare:
    """The line without either."""
    return _without(_DRAWN, _without(_CODES, Bare(line, range(len(line)))))


def _without(pattern: re.Pattern[str], line: Bare) -> Bare:
    parts, places, at = list[str](), list[int](), 0
    for found in pattern.finditer(line.text):
        parts.append(line.text[at : found.start()])
        places += line.places[at : found.start()]
        at = found.end()
    return Bare("".join(parts) + line.text[at:], [*places, *line.places[at:]]) if at else line
