"""Where the verdict of a run that is followed stands: in its place on a terminal, and otherwise a line each time it changes."""

from __future__ import annotations

import dataclasses
import os
import sys
import time
from typing import TYPE_CHECKING, NamedTuple

from sismo.cli.console import WIDEST, emit, visible

if TYPE_CHECKING:
    from types import TracebackType

    from sismo.postmortem import PostMortem
    from sismo.report.page import Page

_ENTER, _LEAVE = "\x1b[?1049h\x1b[?25l\x1b[?7l", "\x1b[?7h\x1b[?25h\x1b[?1049l"
"""The screen that programs like ``top`` use, with no cursor and no wrapping; and the one before, as it was."""
_HOME, _EMPTY_LINE, _EMPTY_REST = "\x1b[H", "\x1b[2K", "\x1b[J"
_BLINK = 0.2
"""Seconds after which a new size of the window is noticed."""


_NARROWEST = 40


class _Shown(NamedTuple):
    document: PostMortem | None
    status: str


class Screen:
    """The place of the verdict. A context: on a terminal it takes a screen of its own, gives it back, and leaves the last report there."""

    def __init__(self, sheet: Page) -> None:
        self._sheet = sheet
        self._terminal = sys.stdout.isatty()
        self._shown = _Shown(None, "")
        self._said = ""
        self._size = (0, 0)

    def __enter__(self) -> Screen:
        if self._terminal:
            _write(_ENTER)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if not self._terminal:
            return
        _write(_LEAVE)
        if self._shown.document is not None:
            emit("\n".join(self._report(self._shown.document, _size()[0])))

    def show(self, document: PostMortem, status: str) -> None:
        """Puts the verdict in the place of the one before; ``status`` is how far the run is."""
        # Another number of rows is no other verdict.
        said = f"{document.severity} {document.verdict.template} {document.causes[0].id if document.causes else None}"
        self._put(_Shown(document, status), f"{status}  {self._sheet.say(document.verdict)}", said)

    def wait(self, message: str) -> None:
        """Says why there is nothing new to show. The last verdict stays where it is."""
        self._put(self._shown._replace(status=visible(message)), message, message)

    def rest(self, seconds: float) -> None:
        """Lets time pass, and draws again when the window has another size."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            time.sleep(min(left, _BLINK) if self._terminal else left)
            if self._terminal and self._size not in {(0, 0), _size()}:
                self._draw()

    def _put(self, shown: _Shown, line: str, said: str) -> None:
        self._shown = shown
        if self._terminal:
            self._draw()
        elif said != self._said:
            emit(visible(line))
        self._said = said

    def _draw(self) -> None:
        self._size = columns, rows = _size()
        report = self._report(self._shown.document, columns) if self._shown.document is not None else []
        lines = [*report[: max(0, rows - 3)], self._sheet.paint(self._shown.status, "dim")]
        emit(_HOME + "".join(f"{_EMPTY_LINE}{line}\n" for line in lines) + _EMPTY_REST)

    def _report(self, document: PostMortem, columns: int) -> list[str]:
        from sismo.report.text import render

        page = dataclasses.replace(self._sheet, width=max(_NARROWEST, min(WIDEST, columns)))
        return render(document, page).split("\n")


def _size() -> tuple[int, int]:
    try:
        columns, rows = os.get_terminal_size(sys.stdout.fileno())
    except (OSError, ValueError):
        return 80, 24
    return columns or 80, rows or 24


def _write(codes: str) -> None:
    sys.stdout.write(codes)
    sys.stdout.flush()
