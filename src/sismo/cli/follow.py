"""Following a run that is still being written: read it again when its files have changed."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from sismo.cli.console import emit
from sismo.errors import SismoError

if TYPE_CHECKING:
    from sismo.postmortem import PostMortem
    from sismo.records.types import Run
    from sismo.report.page import Page
    from sismo.signals.presets import Preset

_REST = 3.0
"""Reading may take a quarter of the time at most: a big run is read less often, so that the training does not notice."""
_DONE = {"completed", "crashed"}


def follow(path: str, limits: Preset, every: float) -> Iterator[tuple[Run, PostMortem] | str]:
    """The run and what was found each time its files have changed, or a message while it cannot be read; ends when the run does."""
    from sismo.cli.pages import worst

    before: object = None
    while True:
        now = _fingerprint(Path(path))
        started = time.monotonic()
        # Nothing is written when a run is killed: then it is read once more, which finds it crashed.
        over = _over(path)
        if now != before or over:
            before = now
            try:
                run, document, _ = worst(path, {}, limits)
            except (SismoError, OSError) as error:
                yield str(error)
            else:
                yield run, document
                if over or run.header.status in _DONE:
                    return
        time.sleep(max(every, _REST * (time.monotonic() - started)))


class Screen:
    """Where the verdict stands: written over itself on a terminal, and otherwise a line each time it changes."""

    def __init__(self, sheet: Page) -> None:
        self._sheet = sheet
        self._terminal = sys.stdout.isatty()
        self._lines = 0
        self._said = ""

    def show(self, document: PostMortem, last: str) -> None:
        """Puts the verdict in the place of the one before."""
        if not self._terminal:
            said = self._sheet.say(document.verdict)
            if said != self._said:
                emit(f"{last}  {said}")
            self._said = said
            return
        from sismo.report.text import render

        # Lines that scrolled away cannot be written over, so only as many as the window holds.
        room = max(5, shutil.get_terminal_size().lines - 3)
        self._replace([*render(document, self._sheet).split("\n")[:room], self._sheet.paint(last, "dim")])

    def wait(self, message: str) -> None:
        """Says why there is nothing to show yet."""
        if self._terminal:
            self._replace([self._sheet.paint(self._sheet.clip(message, self._sheet.width), "dim")])
        elif message != self._said:
            emit(message)
            self._said = message

    def _replace(self, lines: list[str]) -> None:
        if self._lines:
            sys.stdout.write(f"\x1b[{self._lines}F\x1b[J")
        emit("\n".join(lines))
        self._lines = len(lines)


def _fingerprint(path: Path) -> tuple[tuple[str, int, int], ...]:
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    found: list[tuple[str, int, int]] = []
    for file in files:
        try:
            state = file.stat()
        except OSError:
            continue  # a file that came and went between the listing and now
        if file.is_file():
            found.append((str(file), state.st_size, state.st_mtime_ns))
    return tuple(found)


def _over(path: str) -> bool:
    """Whether a recorded run has nobody left who writes it."""
    from sismo.records.schema import MANIFEST, writer_of

    folder = Path(path)
    return (folder / MANIFEST).is_file() and writer_of(folder) is None
