"""Lines of one shape are read alike: a template takes their numbers out without asking what the line means again.

A shape is a line without its digits. A template is learned from the cells of one line, and fits exactly the lines that differ
from it in digits that belong to no name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from sismo.sources.cells import Cell
from sismo.sources.numbers import floats, number

TOGETHER = 4096
"""Lines whose numbers are converted in one go."""

FEW = 16
"""Lines that are converted faster one by one."""
_NONE = {ord(digit): None for digit in "0123456789"}
_PLAIN = re.compile(r"[-+]?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[-+]?(?:nan|NaN|NAN|inf|Inf|INF|Infinity)")
_DIGITS = re.compile(r"[0-9]+")


def shape_of(text: str) -> str:
    """The text without its digits."""
    # Translating is the faster of the two only where a table of bytes does.
    return text.translate(_NONE) if text.isascii() else _DIGITS.sub("", text)


class _Store(Protocol):
    def extend(self, key: str, rows: NDArray[np.int64], values: NDArray[np.float64]) -> None: ...


def matches(pattern: re.Pattern[str], text: str, place: int) -> list[re.Match[str]]:
    """The matches from a place on, each where the one before it ends."""
    # finditer would search the rest of the text for the next one; typeshed lacks scanner, on which re.Scanner is built.
    scanner = cast(Any, pattern).scanner(text, place)
    return list(iter(scanner.match, None))


class Template:
    """How all lines of a shape become rows.

    Attributes:
        pattern: fits the whole line and its end; its groups are the numbers.
        following: the template that the next line fitted the last time.
        markers: what else looks at these lines. settle, settle_run, word: see ``Line``; without it the cells are a row as they are.
        marks: it says where the run is, and makes no row. headings: the columns that held for it.
        joins: whether its cells join the open row. joined: the last row that they joined, -1 before.
        bar, stays_open: see ``Line``. keys: what the groups are, in their order. commas: whether they may hold those of thousands.
    """

    def __init__(self, pattern: str, cells: Sequence[Cell], *, commas: bool, joins: bool, bar: bool, stays_open: bool) -> None:
        self.pattern = re.compile(pattern + r"(?:\n|\Z)")
        self.joins, self.bar, self.stays_open = joins, bar, stays_open
        self.joined = -1
        self.markers: Sequence[Callable[..., object]] = ()
        self.settle: Callable[..., None] | None = None
        self.settle_run: Callable[..., int] | None = None
        self.word = ""
        self.marks = False
        self.headings: Mapping[str, Sequence[str]] = {}
        self.following: Template = self
        self._cells = cells
        self.keys = [cell.key for cell in cells]
        self.commas = commas
        self._plain = not commas and all(cell.times == 1.0 for cell in cells)
        self._rows: list[int] = []
        self._texts: list[str] = []

    def keep(self, rows: Iterable[int], said: Iterable[Sequence[str]]) -> bool:
        """Remembers what lines say, the groups of each; returns whether there is enough of it to convert."""
        self._rows.extend(rows)
        self._texts.extend(chain.from_iterable(said))
        return len(self._rows) >= TOGETHER

    def rows(self, said: Sequence[Sequence[str]]) -> Iterator[dict[str, float]]:
        """The rows of lines, by the groups of each."""
        if len(said) < FEW:
            return map(self.row, said)
        return self.rows_of(self._values(list(chain.from_iterable(said)), len(said)))

    def rows_of(self, values: NDArray[np.float64]) -> Iterator[dict[str, float]]:
        """The same by their numbers, a line of the table each."""
        return (dict(zip(self.keys, row, strict=True)) for row in values.tolist())

    def columns(self, said: Sequence[Sequence[str]]) -> dict[str, NDArray[np.float64]]:
        """The same by key."""
        return dict(zip(self.keys, self._values(list(chain.from_iterable(said)), len(said)).T, strict=True))

    def row(self, said: Sequence[str]) -> dict[str, float]:
        """The row of one line."""
        if self._plain:
            return dict(zip(self.keys, map(float, said), strict=True))
        return dict(zip(self.keys, self._values(said, 1)[0].tolist(), strict=True))

    def flush(self, store: _Store) -> None:
        """Hands over what was remembered."""
        if not self._rows:
            return
        self._put(store, np.array(self._rows, dtype=np.int64), self._values(self._texts, len(self._rows)))
        self._rows.clear()
        self._texts.clear()

    def put(self, store: _Store, rows: Sequence[int], values: NDArray[np.float64]) -> None:
        """Hands over what lines say, and before it what was remembered."""
        self.flush(store)
        self._put(store, np.array(rows, dtype=np.int64), values)

    def _put(self, store: _Store, rows: NDArray[np.int64], values: NDArray[np.float64]) -> None:
        for key, column in zip(self.keys, values.T, strict=True):
            store.extend(key, rows, column)

    def _values(self, texts: Sequence[str], count: int) -> NDArray[np.float64]:
        """What so many lines say, a line of the table each."""
        # The pattern has seen to it that every comma stands before three digits.
        return self.scaled(floats([text.replace(",", "") for text in texts] if self.commas else texts).reshape(count, -1))

    def scaled(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """What numbers as they are printed stand for; they are changed."""
        for at, cell in enumerate(self._cells):
            if cell.times != 1.0:
                values[:, at] = cell.multiplied(values[:, at])
        return values


def template_of(
    line: str,
    cells: Sequence[Cell],
    *,
    drawn: tuple[int, int] | None = None,
    joins: bool = False,
    bar: bool = False,
    stays_open: bool = False,
) -> Template | None:
    """The template that a line gives, or None where digits alone do not tell how lines of its shape are read."""
    if any("," in (text := line[cell.start : cell.end]) and number(text) is None for cell in cells):
        return None
    kept: dict[str, Cell] = {cell.key: cell for cell in cells if number(line[cell.start : cell.end]) is not None}
    ordered = sorted(kept.values(), key=lambda cell: cell.start)
    names = [cell.named for cell in cells if cell.named is not None]
    parts: list[str] = []
    at = 0
    for cell in ordered:
        token = line[cell.start : cell.end]
        # "12,34" is two numbers and "12,345" one: that depends on how many digits there are.
        if cell.start < at or not _PLAIN.fullmatch(token) or re.match(r",\d", line[cell.end : cell.end + 2]):
            return None
        parts += [_between(line, at, cell.start, names, drawn), "(", _number(token), ")"]
        at = cell.end
    parts.append(_between(line, at, len(line), names, drawn))
    commas = any("," in line[cell.start : cell.end] for cell in ordered)
    return Template("".join(parts), ordered, commas=commas, joins=joins, bar=bar, stays_open=stays_open) if ordered else None


def _number(token: str) -> str:
    """A number as a pattern: digits for digits, and three of them behind a thousands comma."""
    first, *thousands = token.split(",")
    if not thousands:
        return _skeleton(token, 0, len(token), ())
    _, point, _ = thousands[-1].partition(".")
    sign = re.escape(first.rstrip("0123456789"))
    return sign + "[0-9]{1,3}" + ",[0-9]{3}" * len(thousands) + (r"\.[0-9]++" if point else "")


def _between(line: str, start: int, end: int, names: Sequence[tuple[int, int]], drawn: tuple[int, int] | None) -> str:
    """What stands between two numbers as a pattern: of what is drawn, anything that does not end it."""
    if drawn is None or not start <= drawn[0] <= drawn[1] <= end:
        return _skeleton(line, start, end, names)
    return _skeleton(line, start, drawn[0], names) + r"[^|\]\n]*+" + _skeleton(line, drawn[1], end, names)


def _skeleton(line: str, start: int, end: int, names: Sequence[tuple[int, int]]) -> str:
    """A stretch of the line as a pattern: digits stand for digits, except inside a name."""
    parts: list[str] = []
    at = start
    for found in _DIGITS.finditer(line, start, end):
        if any(first <= found.start() < last for first, last in names):
            continue
        parts += [re.escape(line[at : found.start()]), "[0-9]++"]
        at = found.end()
    parts.append(re.escape(line[at:end]))
    return "".join(parts)
