"""What a probe found, in the form in which a run keeps it and a renderer prints it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from sismo.errors import UsageError
from sismo.records.schema import EVENTS, MANIFEST
from sismo.records.types import Event, Note


class ProbeReport(NamedTuple):
    """The result of one probe.

    Attributes:
        probe: its name (``nan``, ``replay`` …). found: whether something is wrong. verdict: one sentence.
        data: what goes into the run as evidence; the detectors in ``signals/detectors`` read it.
        columns, rows: a table; cells are names, numbers as text, or words that went through ``word``.
        notes: more sentences, each on its own line.
        open: whether the question stays open: nothing wrong was found, and nothing shows that nothing is.
        until: rows up to the one that counts, where others follow that only come of it; None where the last one counts.
    """

    probe: str
    found: bool
    verdict: Note
    data: Mapping[str, object]
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    notes: tuple[Note, ...] = ()
    until: int | None = None
    open: bool = False

    def event(self, step: int) -> Event:
        """The result as evidence about a step."""
        return Event(step, "probe", {"probe": self.probe, **self.data})


RANGE = " to "
"""Between the two ends of a range in a cell; a renderer says it in its language."""


def word(english: str) -> str:
    """Marks a word of a table for the translators; a renderer looks it up."""
    return english


def add_event(folder: str | Path, event: Event) -> None:
    """Adds an event to a run on disk, finished or still being written. Raises ``UsageError`` where there is no run."""
    path = Path(folder)
    if not (path / MANIFEST).is_file():
        raise UsageError(f"{path}: no run recorded by sismo is here, so there is nothing to add evidence to")
    line = json.dumps({"step": int(event.step), "kind": event.kind, "data": dict(event.data)}, separators=(",", ":"), default=str) + "\n"
    try:
        # One write at the end of the file: what a live recorder appends meanwhile stays whole.
        with open(path / EVENTS, "ab", buffering=0) as file:
            file.write(line.encode())
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from error
