"""What a kind of line is: something that recognises its own lines in a text log and adds them to it.

Kinds of line only translate, as formats do; several occur in one log. A module in ``lines/`` takes part by having a ``LINE``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from sismo.sources.axis import BAR_KEY
from sismo.sources.rows import RowBuilder

_KEPT_FOR = 40
"""Lines for which an epoch heading, or a step heading, holds for measurements that name none."""


class TextLog:
    """The log so far, as the kinds of line see it.

    Attributes:
        rows: the rows. memo: what a kind remembers between lines, by its name. epoch: the last ``Epoch 3/10`` heading, or None.
        bar: count and total of the main progress bar (the one with the largest total), or None. at_line: number of the current line.
    """

    def __init__(self, source: str) -> None:
        self.rows = RowBuilder(source)
        self.memo: dict[str, object] = {}
        self.epoch: float | None = None
        self.bar: tuple[float, float] | None = None
        self.at_line = 0
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

    def attach(self, values: Mapping[str, float]) -> bool:
        """Adds values to the open row when it is near and lacks them; returns False, and does nothing, otherwise."""
        row = self._open_row
        if row < 0 or row != self.rows.n_rows - 1 or self.at_line - self._open_line > _KEPT_FOR:
            return False
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
        """Places a mark here."""
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


class Line(NamedTuple):
    """One kind of line.

    Attributes:
        name: kebab-case. about: one line for the docs, with an example.
        hints: lower-case substrings without digits; a line with none of them is never shown to it.
        order: kinds are asked in this order; the first that takes a line ends it. marker: it only marks, and others see the line as well.
        read: adds what a line says to the log; returns whether the line was of this kind. finish: called once after the last line.
    """

    name: str
    about: str
    hints: tuple[str, ...]
    order: int
    read: Callable[[str, TextLog], bool]
    marker: bool = False
    finish: Callable[[TextLog], None] = _nothing
