"""What a line says, by place: which of its numbers stands under which key."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sismo.sources.numbers import NUMBER, number

_NUMBER = re.compile(NUMBER)


class Cell(NamedTuple):
    """One number of a line.

    Attributes:
        key: under which it goes into the row. start, end: where it stands.
        named: where its key was read, if in the line. times: what it is multiplied by: 1000 for ``1.5k`` steps, -1 for an objective.
    """

    key: str
    start: int
    end: int
    named: tuple[int, int] | None = None
    times: float = 1.0

    def value(self, text: str) -> float | None:
        """What the cell holds when it reads so; None where that is no number. A count of thousands is a whole number."""
        value = number(text)
        return value if value is None or self.times == 1.0 else float(self.multiplied(np.float64(value)))

    def multiplied(self, values: NDArray[np.float64] | np.float64) -> NDArray[np.float64]:
        """What the numbers under the cell stand for."""
        return np.rint(values * self.times) if self.times > 1.0 else np.asarray(values * self.times)


class Parsed(NamedTuple):
    """What a line says by itself.

    Attributes:
        cells: its numbers. word: what else it says, the same on all lines that differ in digits only.
    """

    cells: Sequence[Cell]
    word: str = ""


def row_of(line: str, cells: Iterable[Cell]) -> dict[str, float]:
    """The row that the cells of a line make; of two numbers under one key the later stays."""
    row: dict[str, float] = {}
    for cell in cells:
        value = cell.value(line[cell.start : cell.end])
        if value is not None:
            row[cell.key] = value
    return row


def group_cell(key: str, found: re.Match[str], group: int) -> Iterator[Cell]:
    """The cell of a group that matched a number; none where it took no part."""
    start, end = found.span(group)
    if start >= 0:
        yield Cell(key, start, end)


def cells_by(pattern: re.Pattern[str], line: str, start: int, end: int | None = None, prefix: str = "") -> Iterator[Cell]:
    """The cells of a stretch of a line that consists of pairs: the groups of the pattern are the key and the number."""
    for found in pattern.finditer(line, start, len(line) if end is None else end):
        yield Cell(prefix + found[1].strip(), *found.span(2), found.span(1))


def fields(line: str, start: int, separator: str, colon: str, prefix: str = "") -> Iterator[Cell]:
    """The cells of what stands between separators as ``key: number``, with or without a unit behind it."""
    at = start
    for field in line[start:].split(separator):
        key, _, text = field.partition(colon)
        found = _NUMBER.match(text.lstrip()) if number(text) is not None else None
        if found is not None:
            place = at + len(field) - len(text.lstrip())
            yield Cell(prefix + key.strip(), place, place + found.end(), (at, at + len(key)))
        at += len(field) + len(separator)
