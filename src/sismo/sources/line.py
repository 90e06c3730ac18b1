"""What a kind of line is: something that recognises its own lines in a text log and adds them to it.

Kinds of line only translate, as formats do; several occur in one log. A module in ``lines/`` takes part by having a ``LINE``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sismo.sources.axis import BAR_KEY
from sismo.sources.cells import Cell, Parsed, row_of
from sismo.sources.rows import RowBuilder
from sismo.sources.template import Said, Template

FEW = 16
"""Lines that are settled faster one by one."""
_KEPT_FOR = 40
"""Lines for which an epoch heading, or a step heading, holds for measurements that name none."""


class TextLog:
    """The log so far, as the kinds of line see it.

    Attributes:
        rows: the rows. memo: what a kind remembers between lines, by its name. epoch: the last ``Epoch 3/10`` heading, or None.
        bar: count and total of the main progress bar (the one with the largest total), or None. at_line: number of the current line.
        repeated: a heading that changes nothing when it comes again before another one, or nothing.
        busy: kinds that are inside something, and may take any line. headings: the names of columns that hold for a kind that is busy.
    """

    def __init__(self, source: str) -> None:
        self.rows = RowBuilder(source)
        self.memo: dict[str, object] = {}
        self.epoch: float | None = None
        self.bar: tuple[float, float] | None = None
        self.at_line = 0
        self.repeated = ""
        self.busy: set[str] = set()
        self.headings: dict[str, list[str]] = {}
        self._open_row = self._open_line = -1
        self._open_names: frozenset[str] = frozenset()
        self._barred: list[int] = []
        self._bars: list[float] = []
        self._awaiting: dict[str, float] = {}
        self._awaiting_line = -1

    def add(self, values: Mapping[str, float], *, open_row: bool = False) -> None:
        """Adds a row. With ``open_row`` the lines right after it may still ``attach`` to it."""
        if self._awaiting:
            near = self.at_line - self._awaiting_line <= _KEPT_FOR
            values, self._awaiting = ({**self._awaiting, **values} if near else values), {}
        row = self.rows.add(values)
        if open_row:
            self._open_row, self._open_line, self._open_names = row, self.at_line, frozenset(values)
        else:
            self.close()

    def add_together(self, columns: Mapping[str, NDArray[np.float64]], count: int) -> None:
        """Adds so many rows by key, where none is kept for the next one."""
        rows = np.arange(self.rows.n_rows, self.rows.n_rows + count)
        self.rows.n_rows += count
        self.rows.extend(rows, columns)
        self.close()

    def holds(self, template: Template) -> bool:
        """Whether lines would be read as those were from which the template was learned."""
        return self.headings == template.headings and self.busy == template.headings.keys()

    def take(
        self,
        template: Template,
        lines: Sequence[str],
        numbers: Sequence[int],
        count: int,
        said: Said,
        at: int,
        rows: list[int],
    ) -> int:
        """Reads so many lines from ``len(rows)`` on, which fit a template, as far as it can in one go; returns how many.

        ``numbers`` has where each line stands in the log, and ``said`` what those say that are read, from a place on.
        ``rows`` gets for each line the row that its numbers are still to go into, -1 where there is none.
        """
        first = len(rows)
        if (self.busy or template.headings) and not self.holds(template):
            return 0
        if template.joins and not self._may_join(template.names, numbers[first]):
            return 0
        self.at_line = numbers[first]
        if template.markers:
            count = 1
            for marker in template.markers:
                marker(lines[first], self)
        if template.marked:
            count = count if template.settle_run is not None else 1
            for marked in template.marked:
                marked.settle_run({key: said.table[row, at : at + count] for key, row in marked.keys}, marked.word, self)
        if template.settle is not None and count == 1:
            template.settle(dict(zip(template.keys, said.lines()[at])), template.word, self)  # noqa: B905 - most lines that are settled
            rows.append(-1)
        elif template.settle is not None:
            self._settle(template, said, at, numbers[first : first + count])
            rows += [-1] * count
        elif template.joins:
            count = 1
            self._open_names |= template.names
            rows.append(self._open_row)
        elif self._awaiting:
            count = 1
            row = dict(zip(template.keys, said.lines()[at], strict=False))
            self.add(self.with_bar(row) if template.bar else row, open_row=template.stays_open)
            rows.append(-1)
        else:
            self.at_line = numbers[first + count - 1]
            self._add_later(template, count, rows)
        return count

    def _add_later(self, template: Template, count: int, rows: list[int]) -> None:
        """Makes rows whose numbers come later."""
        new = range(self.rows.n_rows, self.rows.n_rows + count)
        rows += new
        self.rows.n_rows += count
        if template.bar and self.bar is not None:
            self._barred += new
            self._bars += [self.bar[0]] * count
        if template.stays_open:
            self._open_row, self._open_line, self._open_names = new[-1], self.at_line, template.names
        else:
            self.close()

    def _settle(self, template: Template, said: Said, at: int, numbers: Sequence[int]) -> None:
        """Settles lines in a row, together where their kind knows how to."""
        settle = template.settle
        assert settle is not None
        if len(numbers) >= FEW and template.settle_run is not None and not self._awaiting:
            template.settle_run(dict(zip(template.keys, said.table[:, at : at + len(numbers)], strict=False)), template.word, self)
            self.at_line = numbers[-1]
            return
        keys, word = template.keys, template.word
        for number, values in zip(numbers, said.lines()[at : at + len(numbers)]):  # noqa: B905 - it is what most of the time goes into
            self.at_line = number
            settle(dict(zip(keys, values)), word, self)  # noqa: B905

    def open_heading(self, kind: str, names: list[str]) -> None:
        """From here on lines are those of a table with these columns."""
        self.headings[kind] = names
        self.busy.add(kind)

    def close_heading(self, kind: str) -> None:
        """Ends the table of a kind, if one is open."""
        self.headings.pop(kind, None)
        self.busy.discard(kind)

    def _may_join(self, names: Collection[str], at_line: int) -> bool:
        """Whether the open row is near to a line and lacks what it has."""
        row = self._open_row
        near = row >= 0 and row == self.rows.n_rows - 1 and at_line - self._open_line <= _KEPT_FOR
        return near and self._open_names.isdisjoint(names)

    def flush(self) -> None:
        """Brings the rows up to date."""
        self.rows.extend(np.array(self._barred, dtype=np.int64), {BAR_KEY: np.array(self._bars)})
        self._barred.clear()
        self._bars.clear()

    def attach(self, values: Mapping[str, float]) -> bool:
        """Adds values to the open row when it is near and lacks them; returns False, and does nothing, otherwise."""
        if not self._may_join(values.keys(), self.at_line):
            return False
        self._open_names = self._open_names.union(values)
        self.rows.join(self._open_row, values)
        return True

    def await_row(self, values: Mapping[str, float]) -> None:
        """Keeps values for the next row, which lacks them: a learning rate that is printed before the loss."""
        self._awaiting.update(values)
        self._awaiting_line = self.at_line

    def close(self) -> None:
        """Ends the open row: what follows is about another."""
        self._open_row = -1

    def mark(self, kind: str, **data: object) -> None:
        """Places a mark here; warnings and crashes tell the number of their line."""
        if kind in ("warning", "crash"):
            data["place"] = self.at_line
        self.rows.mark(kind, **data)

    def overflow(self, **data: object) -> None:
        """Places an overflow mark; a progress bar that was seen moves on with it, since a skipped step is a step."""
        if self.bar is not None:
            self.bar = (self.bar[0] + 1, self.bar[1])
            data["at"] = self.bar[0]
        self.mark("overflow", **data)

    def with_bar(self, values: dict[str, float]) -> dict[str, float]:
        """The values with the count of the last progress bar, for rows that name no step."""
        if self.bar is not None:
            values[BAR_KEY] = self.bar[0]
        return values


def _nothing(log: TextLog) -> None:
    """Most kinds have nothing to do at the end of a log."""


def _never(line: str, log: TextLog) -> bool:
    """Kinds whose lines are all cells take no others."""
    return False


def _no_cells(line: str) -> Sequence[Cell]:
    return ()


def _no_columns(line: str, names: Sequence[str]) -> Sequence[Cell]:
    return ()


def _unparsed(line: str) -> Parsed | None:
    return None


def _settle_nothing(row: Mapping[str, float], word: str, log: TextLog) -> None:
    """Kinds that parse nothing settle nothing."""


class Line(NamedTuple):
    """One kind of line.

    Attributes:
        name: kebab-case. about: one line for the docs, with an example.
        hints: lower-case substrings without digits; a line with none of them is never shown to it.
        order: kinds are asked in this order; the first that takes a line ends it. marker: it only marks, and others see the line as well.
        cells: the numbers of a line that says all by itself, whatever stood before it and whatever its numbers are; none for other lines.
        more: the same for a line that adds to the row above that is still open.
        under: the numbers of a line that is a row under the names of columns (``TextLog.open_heading``).
        parse, settle: what a line says by itself, and what that means after what stood before it: a bar may be drawn twice, a loss stands
        under a heading. Whatever is parsed is settled, and taken by it. ``settle`` gets the row and the word that were parsed.
        settle_run: does the same for many rows by key in one go. Of a marker, before others settle what they read of these lines.
        read: adds what any other line says to the log. Returns whether the line was of this kind: False means that no line of this shape
            ever is, None that this one is not here and now.
        bar: rows take the count of the progress bar before them. stays_open: the lines after a row may still add to it.
        finish: called once after the last line.
    """

    name: str
    about: str
    hints: tuple[str, ...]
    order: int
    read: Callable[[str, TextLog], bool | None] = _never
    marker: bool = False
    finish: Callable[[TextLog], None] = _nothing
    cells: Callable[[str], Sequence[Cell]] = _no_cells
    more: Callable[[str], Sequence[Cell]] = _no_cells
    under: Callable[[str, Sequence[str]], Sequence[Cell]] = _no_columns
    parse: Callable[[str], Parsed | None] = _unparsed
    settle: Callable[[dict[str, float], str, TextLog], None] = _settle_nothing
    settle_run: Callable[[Mapping[str, NDArray[np.float64]], str, TextLog], None] | None = None
    bar: bool = False
    stays_open: bool = False

    def take(self, line: str, log: TextLog) -> bool | None:
        """Reads a line in either way; returns what ``read`` does."""
        names = log.headings.get(self.name)
        cells = self.cells(line) if names is None else self.under(line, names)
        row = row_of(line, cells) if cells else None
        if row:
            log.add(log.with_bar(row) if self.bar else row, open_row=self.stays_open)
            return True
        added = self.more(line)
        if added:
            return log.attach(row_of(line, added)) or None
        parsed = self.parse(line)
        if parsed is None:
            return self.read(line, log)
        self.settle(row_of(line, parsed.cells), parsed.word, log)
        return True
