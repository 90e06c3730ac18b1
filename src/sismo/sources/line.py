"""What a kind of line is: something that recognises its own lines in a text log and adds them to it.

Kinds of line only translate, as formats do; several occur in one log. A module in ``lines/`` takes part by having a ``LINE``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sismo.sources.axis import BAR_KEY
from sismo.sources.cells import Cell, Parsed, row_of
from sismo.sources.rows import RowBuilder
from sismo.sources.stanza import Stanza
from sismo.sources.template import FEW, Template, matches

_KEPT_FOR = 40
"""Lines for which an epoch heading, or a step heading, holds for measurements that name none."""


class TextLog:
    """The log so far, as the kinds of line see it.

    Attributes:
        rows: the rows. memo: what a kind remembers between lines, by its name. epoch: the last ``Epoch 3/10`` heading, or None.
        bar: count and total of the main progress bar (the one with the largest total), or None. at_line: number of the current line.
        busy: kinds that are inside something, and may take any line. headings: the names of columns that hold for a kind that is busy.
        reading: the templates that lines are read by.
    """

    def __init__(self, source: str) -> None:
        self.rows = RowBuilder(source)
        self.memo: dict[str, object] = {}
        self.epoch: float | None = None
        self.bar: tuple[float, float] | None = None
        self.at_line = 0
        self.busy: set[str] = set()
        self.headings: dict[str, list[str]] = {}
        self.reading: list[Template] = []
        self._open_row = -1
        self._open_line = -1
        self._awaiting: dict[str, float] = {}
        self._awaiting_line = -1

    def add(self, values: Mapping[str, float], *, open_row: bool = False) -> None:
        """Adds a row. With ``open_row`` the lines right after it may still ``attach`` to it."""
        if self._awaiting:
            near = self.at_line - self._awaiting_line <= _KEPT_FOR
            values, self._awaiting = ({**self._awaiting, **values} if near else values), {}
        row = self.rows.add(values)
        self._open_row, self._open_line = (row, self.at_line) if open_row else (-1, -1)

    def add_together(self, columns: Mapping[str, NDArray[np.float64]], count: int) -> None:
        """Adds so many rows by key, where none is kept for the next one."""
        rows = np.arange(self.rows.n_rows, self.rows.n_rows + count)
        self.rows.n_rows += count
        for key, values in columns.items():
            self.rows.extend(key, rows, values)
        self.close()

    def fits(self, line: str, template: Template) -> bool:
        """Whether a line is one of this template, and none that it would have to be read together with; then it adds its row."""
        found = template.pattern.fullmatch(line) if self._holds(template) else None
        if found is None:
            return False
        said = found.groups()
        if template.joins:
            return self._join(template, said)
        for marker in template.markers:
            marker(line, self)
        if template.settle is not None:
            template.settle(template.row(said), template.word, self)
        else:
            if template.bar and self.bar is not None:
                self.rows.put(self.rows.n_rows, BAR_KEY, self.bar[0])
            if template.keep([self._row_for(template)], [said]):
                template.flush(self.rows)
        return True

    def take_run(self, text: str, place: int, template: Template) -> tuple[int, int]:
        """Adds the rows of the lines from a place on that fit a template, as ``fits`` does; how many there are, and where they end."""
        if template.joins or template.markers or not self._holds(template):
            return 0, place
        found = matches(template.pattern, text, place)
        count, row = len(found), self.rows.n_rows
        if not count:
            return 0, place
        said = [one.groups() for one in found]
        if template.settle is not None:
            self._settle(template, said)
            return count, found[-1].end()
        self.rows.n_rows += count
        self.at_line += count
        if template.bar and self.bar is not None:
            self.rows.extend(BAR_KEY, np.arange(row, row + count), np.full(count, self.bar[0]))
        if template.keep(range(row, row + count), said):
            template.flush(self.rows)
        self._open_row, self._open_line = (row + count - 1, self.at_line) if template.stays_open else (-1, -1)
        return count, found[-1].end()

    def _settle(self, template: Template, said: Sequence[Sequence[str]]) -> None:
        """Settles lines in a row, together where their kind knows how to."""
        assert template.settle is not None
        at = 0
        if template.settle_run is not None and len(said) >= FEW and not self._awaiting:
            columns = template.columns(said)
            while at < len(said):
                settled = template.settle_run(columns, at, template.word, self)
                at += settled
                self.at_line += settled
        for values in template.rows(said[at:]):
            self.at_line += 1
            template.settle(values, template.word, self)

    def take_stanza(self, text: str, place: int, stanza: Stanza) -> tuple[int, int]:
        """The same for the lines that fit a stanza, as often as it comes."""
        if not all(map(self._holds, stanza.templates)):
            return 0, place
        found = matches(stanza.pattern, text, place)
        if not found:
            return 0, place
        tables = stanza.tables(found)
        settled = [None if one.settle is None else one.rows_of(table) for one, table in zip(stanza.templates, tables, strict=True)]
        places: list[list[int]] = [[] for _ in tables]
        barred: list[int] = []
        counts: list[float] = []
        for _ in found:
            for template, values, rows in zip(stanza.templates, settled, places, strict=True):
                self.at_line += 1
                if values is not None and template.settle is not None:
                    template.settle(next(values), template.word, self)
                elif template.joins:
                    template.joined = self._open_row
                    rows.append(self._open_row)
                else:
                    if template.bar and self.bar is not None:
                        barred.append(self.rows.n_rows)
                        counts.append(self.bar[0])
                    rows.append(self._row_for(template))
        self.rows.extend(BAR_KEY, np.array(barred, dtype=np.int64), np.array(counts))
        for template, table, rows in zip(stanza.templates, tables, places, strict=True):
            if rows:
                template.put(self.rows, rows, table)
        return len(found) * len(tables), found[-1].end()

    def _row_for(self, template: Template) -> int:
        """A new row for a line that fits a template, whose cells come later."""
        row = self.rows.n_rows
        self.rows.n_rows += 1
        self._open_row, self._open_line = (row, self.at_line) if template.stays_open else (-1, -1)
        return row

    def _holds(self, template: Template) -> bool:
        """Whether lines would be read as those were from which the template was learned."""
        if self.headings != template.headings or self.busy != template.headings.keys():
            return False
        return template.settle is not None or not self._awaiting

    def open_heading(self, kind: str, names: list[str]) -> None:
        """From here on lines are those of a table with these columns."""
        self.headings[kind] = names
        self.busy.add(kind)

    def close_heading(self, kind: str) -> None:
        """Ends the table of a kind, if one is open."""
        self.headings.pop(kind, None)
        self.busy.discard(kind)

    def _join(self, template: Template, said: Sequence[str]) -> bool:
        row = self._open_row
        if not self._is_open() or row == template.joined:
            return False
        template.joined = row
        if template.keep([row], [said]):
            template.flush(self.rows)
        return True

    def _is_open(self) -> bool:
        row = self._open_row
        return row >= 0 and row == self.rows.n_rows - 1 and self.at_line - self._open_line <= _KEPT_FOR

    def flush(self) -> None:
        """Brings all rows up to date."""
        for template in self.reading:
            template.flush(self.rows)

    def attach(self, values: Mapping[str, float]) -> bool:
        """Adds values to the open row when it is near and lacks them; returns False, and does nothing, otherwise."""
        if not self._is_open():
            return False
        row = self._open_row
        self.flush()
        if any(self.rows.has(row, key) for key in values):
            return False
        for key, value in values.items():
            self.rows.put(row, key, value)
        return True

    def await_row(self, values: Mapping[str, float]) -> None:
        """Keeps values for the next row, which lacks them: a learning rate that is printed before the loss."""
        self._awaiting.update(values)
        self._awaiting_line = self.at_line

    def close(self) -> None:
        """Ends the open row: what follows is about another."""
        self._open_row = self._open_line = -1

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
        settle_run: does the same for some of many rows by key, from a place on, in one go; returns for how many, one at least.
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
    settle_run: Callable[[Mapping[str, NDArray[np.float64]], int, str, TextLog], int] | None = None
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
