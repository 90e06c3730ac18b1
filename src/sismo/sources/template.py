"""Lines of one shape are read alike: a template takes their numbers out without asking what the line means again.

A shape is a line without its digits. A template is learned from the cells of one line, and fits exactly the lines that differ
from it in digits that belong to no name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from sismo.sources.cells import Cell
from sismo.sources.digits import LONGEST, Digits, Ints, Spelled
from sismo.sources.numbers import number

_PLAIN = re.compile(r"[-+]?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[-+]?(?:nan|NaN|NAN|inf|Inf|INF|Infinity)")
_DIGITS = re.compile(r"[0-9]+")
_BEFORE_COMMA, _BEHIND_COMMA = re.compile(r",\d"), re.compile(r"\d,")
_EXACT = 22
"""Powers of ten up to this are floats without an error, so that one division by one rounds as a whole number does."""
_LARGEST = 2**53
"""Whole numbers up to this are."""
_TENS = np.array([10**power for power in range(LONGEST + 1)], dtype=np.int64)
_FLOAT_TENS = np.array([10.0**power for power in range(_EXACT + 1)])


def shape_of(text: str) -> str:
    """The text without its digits."""
    return _DIGITS.sub("", text)


def runs_of(text: str) -> list[re.Match[str]]:
    """The runs of digits of a text."""
    return [*_DIGITS.finditer(text)]


def into_shape(runs: Sequence[re.Match[str]], text: str) -> tuple[int, ...]:
    """How far each run is into the shape of a text, in bytes of UTF-8."""
    passed, into = 0, list[int]()
    for run in runs:
        into.append(len(text[: run.start()].encode("utf-8", "surrogatepass")) - passed)
        passed += run.end() - run.start()
    return tuple(into)


class _Written(NamedTuple):
    """How a number is written: which of the runs of a template it is made of, -1 for none.

    Attributes:
        whole: the runs before the point, more than one where commas part thousands. fraction, exponent: the runs behind it.
        negative: whether it is, shrinks: whether its exponent is. before, after: letters of it before its first run and behind its last.
        times: what it is multiplied by. constant: what it stands for where it is a word.
    """

    cell: Cell
    whole: tuple[int, ...] = ()
    fraction: int = -1
    exponent: int = -1
    negative: bool = False
    shrinks: bool = False
    before: int = 0
    after: int = 0
    constant: float | None = None

    def values(self, digits: Digits, said: Spelled) -> NDArray[np.float64]:
        """The number on each line."""
        if self.constant is not None:
            return self._multiplied(np.full(said.values.shape[1], self.constant))
        there = [*self.whole, *(run for run in (self.fraction, self.exponent) if run >= 0)]
        mantissa = said.values[there[0]] if self.whole else np.zeros(said.values.shape[1], dtype=np.int64)
        count = said.lengths[there[0]] if self.whole else np.zeros_like(mantissa)
        for run in self.whole[1:]:
            mantissa, count = mantissa * 1000 + said.values[run], count + 3
        power = np.zeros_like(mantissa)
        if self.fraction >= 0:
            places = np.minimum(said.lengths[self.fraction], LONGEST)
            mantissa, count, power = mantissa * _TENS[places] + said.values[self.fraction], count + said.lengths[self.fraction], -places
        sure = (count <= LONGEST) & (mantissa <= _LARGEST)
        if self.exponent >= 0:
            exponent = said.values[self.exponent]
            power = power - exponent if self.shrinks else power + exponent
            sure &= (said.lengths[self.exponent] <= LONGEST) & (np.abs(power) <= _EXACT)
            power = np.clip(power, -_EXACT, _EXACT)
        values = mantissa / _FLOAT_TENS[np.maximum(-power, 0)]
        if self.exponent >= 0:
            values *= _FLOAT_TENS[np.maximum(power, 0)]
        if self.negative:
            np.negative(values, out=values)
        if not sure.all():
            ends = said.starts[there[-1]] + said.lengths[there[-1]] + self.after
            starts = said.starts[there[0]] - self.before
            for line in np.flatnonzero(~sure).tolist():
                values[line] = float(digits.data[starts[line] : ends[line]].replace(b",", b""))
        return self._multiplied(values)

    def _multiplied(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        return values if self.cell.times == 1.0 else self.cell.multiplied(values)


class _Fixed(NamedTuple):
    """A run that is no number of its own: how many digits it has, and which where they belong to a name."""

    run: int
    length: int
    value: int | None


class Said:
    """What lines say that fit a template.

    Attributes:
        table: their numbers, a row for each, a column for each line.
    """

    __slots__ = ("_lines", "table")

    def __init__(self, table: NDArray[np.float64]) -> None:
        self.table = table
        self._lines: Sequence[Sequence[float]] | None = None

    def lines(self) -> Sequence[Sequence[float]]:
        """The same line by line, for those that are settled one by one."""
        lines = self._lines
        if lines is None:
            lines = self._lines = cast("list[list[float]]", self.table.T.tolist())
        return lines


class Marked(NamedTuple):
    """What a marker reads of a line: which rows of the table of its numbers are under its keys, and what it does with those of many."""

    keys: tuple[tuple[str, int], ...]
    word: str
    settle_run: Callable[..., None]


class WayOfReading(NamedTuple):
    """What becomes of the numbers of a line, whatever it looks like: see ``Template`` for each."""

    keys: tuple[str, ...]
    markers: tuple[Callable[..., object], ...]
    marked: tuple[Marked, ...]
    settle: Callable[..., None] | None
    word: str
    headings: tuple[tuple[str, tuple[str, ...]], ...]
    joins: bool
    bar: bool
    stays_open: bool


class Template:
    """How all lines of a shape become rows.

    Attributes:
        into: how far each run of digits is into the shape. runs: the runs that it reads.
        markers: what else looks at these lines. marked: what is known of others without a look. settle, settle_run, word: see ``Line``;
            without them the cells are a row as they are.
        headings: the columns that held for it.
        joins: whether its cells join the open row. bar, stays_open: see ``Line``.
        keys: what its numbers are, but for those behind them, which only markers read.
    """

    def __init__(
        self, into: tuple[int, ...], runs: Sequence[int], written: Sequence[_Written], beside: Sequence[_Written], fixed: Sequence[_Fixed]
    ) -> None:
        self.into, self.runs = into, tuple(runs)
        self.keys = [one.cell.key for one in written]
        self.names = frozenset(self.keys)
        self.joins = self.bar = self.stays_open = False
        self.markers: Sequence[Callable[..., object]] = ()
        self.marked: Sequence[Marked] = ()
        self.settle: Callable[..., None] | None = None
        self.settle_run: Callable[..., None] | None = None
        self.word = ""
        self.headings: Mapping[str, Sequence[str]] = {}
        self._written, self._fixed = [*written, *beside], fixed

    def row_of(self, cell: Cell) -> int:
        """Where the numbers of a cell are in the table that ``read`` returns."""
        places = [(one.cell.start, one.cell.end, one.cell.times) for one in self._written]
        return places.index((cell.start, cell.end, cell.times))

    @property
    def way_of_reading(self) -> WayOfReading:
        """What becomes of its numbers: templates that have this in common read their lines together."""
        headings = tuple((kind, tuple(names)) for kind, names in self.headings.items())
        return WayOfReading(
            tuple(self.keys),
            tuple(self.markers),
            tuple(self.marked),
            self.settle,
            self.word,
            headings,
            self.joins,
            self.bar,
            self.stays_open,
        )

    def read(self, digits: Digits, lines: Ints, runs: Ints) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """Which of some lines it fits, and a table of the numbers on those: a row for each, a column for each line.

        ``runs`` are ``self.runs`` among the runs of each line, see ``Digits.spell``. The lines are of its shape, its runs in their places.
        """
        said = digits.spell(lines, runs)
        fits = np.ones(lines.size, dtype=np.bool_)
        for run, length, value in self._fixed:
            fits &= (said.lengths[run] == length) & (value is None or said.values[run] == value)
        for one in self._written:
            if len(one.whole) > 1:
                first, *others = one.whole
                fits &= (said.lengths[first] <= 3) & (said.lengths[others] == 3).all(axis=0)
        if not fits.all():
            said = Spelled(*(table[:, fits] for table in said))
        values = [one.values(digits, said) for one in self._written]
        return fits, np.array(values, dtype=np.float64)


def template_of(line: str, cells: Sequence[Cell], beside: Sequence[Cell] = ()) -> Template | None:
    """The template that a line gives, or None where digits alone do not tell how lines of its shape are read.

    ``beside`` are numbers that only markers read; they may be some of the others.
    """
    if any("," in (text := line[cell.start : cell.end]) and number(text) is None for cell in cells):
        return None
    kept: dict[str, Cell] = {cell.key: cell for cell in cells if number(line[cell.start : cell.end]) is not None}
    places = {(cell.start, cell.end, cell.times) for cell in kept.values()}
    others = [cell for cell in beside if (cell.start, cell.end, cell.times) not in places]
    named = [cell.named for cell in cells if cell.named is not None]
    runs = runs_of(line)
    used: dict[int, int] = {}  # which run of the line is which of the template
    written: list[_Written] = []
    at = 0
    for cell in sorted([*kept.values(), *others], key=lambda cell: cell.start):
        # "12,34" is two numbers and "12,345" one: that depends on how many digits there are.
        one = None if cell.start < at or _BEFORE_COMMA.match(line, cell.end) else _written(line, cell, runs, used)
        if one is None:
            return None
        written.append(one)
        at = cell.end
    fixed: list[_Fixed] = []
    for which, run in enumerate(runs):
        in_name = any(first <= run.start() < last for first, last in named)
        # Whether "12,34" was no number and "1,234" is one depends on how many digits there are as well.
        beside_comma = _BEFORE_COMMA.match(line, run.end()) or _BEHIND_COMMA.match(line, max(0, run.start() - 2))
        if which not in used and (in_name or beside_comma):
            if len(run[0]) > LONGEST:
                return None
            fixed.append(_Fixed(used.setdefault(which, len(used)), len(run[0]), int(run[0]) if in_name else None))
    for_markers = [one for one in written if one.cell in others]
    written = [one for one in written if one.cell not in others]
    return Template(into_shape(runs, line), [*used], written, for_markers, fixed) if written else None


def _written(line: str, cell: Cell, runs: Sequence[re.Match[str]], used: dict[int, int]) -> _Written | None:
    """How the number of a cell is written; None where that is not plain. Its runs are added to those that are used."""
    token = line[cell.start : cell.end]
    if not token.isascii() or not _PLAIN.fullmatch(token):
        return None
    inside = [(which, run) for which, run in enumerate(runs) if run.start() < cell.end and run.end() > cell.start]
    if not inside:
        return _Written(cell, constant=number(token))
    first, last = inside[0][1].start(), inside[-1][1].end()
    if first < cell.start or last > cell.end:  # digits go on beside it
        return None
    body, mark, _ = token.lower().partition("e")
    whole, point, fraction = body.lstrip("+-").partition(".")
    places = [used.setdefault(which, len(used)) for which, _ in inside]
    count = whole.count(",") + 1 if whole else 0
    return _Written(
        cell,
        whole=tuple(places[:count]),
        fraction=places[count] if point and fraction else -1,
        exponent=places[-1] if mark else -1,
        negative=token.startswith("-"),
        shrinks=bool(mark) and "-" in token.lower().partition("e")[2],
        before=first - cell.start,
        after=cell.end - last,
    )
