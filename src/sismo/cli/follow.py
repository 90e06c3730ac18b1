"""Following a run that is still being written: read it again when its files have changed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from sismo.errors import SismoError

if TYPE_CHECKING:
    from sismo.postmortem import PostMortem
    from sismo.records.types import Run
    from sismo.signals.presets import Preset

_REST = 3.0
"""Reading may take a quarter of the time at most: a big run is read less often, so that the training does not notice."""
_DONE = {"completed", "crashed"}


def follow(path: str, limits: Preset, every: float, rest: Callable[[float], None]) -> Iterator[tuple[Run, PostMortem] | str]:
    """The run and what was found each time its files have changed, or a message while it cannot be read; ends when the run does.

    ``rest`` lets so many seconds pass.
    """
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
        rest(max(every, _REST * (time.monotonic() - started)))


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
