"""Text logs from machines that write ``loss 0,8012``: told from ``step 1,000`` by how the measured lines are written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice

from sismo.sources.words import HINTS

MAX_LINES = 20_000
"""Lines looked at; logs that measure nothing before that are taken to write points."""
MAX_CHARS = 2000
ENOUGH = 200
"""Measured lines that settle it."""
MIN_LINES = 3
MIN_SHARE = 0.8
"""Share of the measured lines that must have such a number."""

_MEASURED = ("loss", "cost", "perplexity", "ppl", "grad", *HINTS)
_TOGETHER = 256
_DIGIT = re.compile(r"\d")
_STAMP = re.compile(r"\d\d:\d\d(?::\d\d)?[.,]?\d*")
_COMMA = re.compile(r"(?<![\w.,])(?<!\d:)([-+]?)(\d{1,3}(?:\.\d{3})+|\d+),(\d+)(?![\w]*[,.]\d)(?=\D|$)")
_POINT = re.compile(r"\d\.\d+(?![\d,.])")
_THOUSANDS = re.compile(r"[-+]?[1-9]\d{0,2},\d{3}")


def decimal_comma(lines: Iterable[str]) -> bool:
    """Whether the measured lines have numbers such as ``0,8012``, which no thousands comma gives, and none with a point."""
    measured, with_comma = 0, 0
    for line in islice(_measured(lines), ENOUGH):
        text = _STAMP.sub(" ", line)
        if _POINT.search(text):
            return False
        measured += 1
        with_comma += any(not _THOUSANDS.fullmatch(found[0]) for found in _COMMA.finditer(text))
    return with_comma >= MIN_LINES and with_comma >= MIN_SHARE * measured


def _measured(lines: Iterable[str]) -> Iterator[str]:
    """The lines with a measurement and a number."""
    head = islice(lines, MAX_LINES)
    while some := list(islice(head, _TOGETHER)):
        if any(word in "\n".join(some).lower() for word in _MEASURED):
            short = (line for line in some if len(line) <= MAX_CHARS and _DIGIT.search(line))
            yield from (line for line in short if any(word in line.lower() for word in _MEASURED))


def with_points(line: str) -> str:
    """The line with a point in each of its decimals; thousands points go, and times of day stay as they are."""
    return _COMMA.sub(lambda found: f"{found[1]}{found[2].replace('.', '')}.{found[3]}", line)
