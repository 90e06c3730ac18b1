"""Writes a run as it happens. A row reaches the operating system before ``row`` returns: a kill loses at most the step in flight."""

from __future__ import annotations

import contextlib
import errno
import json
import os
from collections.abc import Mapping, Sequence
from io import FileIO
from pathlib import Path
from types import TracebackType
from typing import Self

from sismo.errors import UsageError
from sismo.records.background import PartInWriting
from sismo.records.channels import is_channel
from sismo.records.migrate import migrate
from sismo.records.parts import write_part
from sismo.records.schema import (
    EVENTS,
    LOCK,
    MANIFEST,
    METRICS,
    SCHEMA_VERSION,
    TAIL,
    header_from_json,
    header_to_json,
    parts_in,
    read_manifest,
    write_json,
    writer_of,
)
from sismo.records.tail import Row, read_tail
from sismo.records.types import Event, Header

ROWS_PER_PART = 5000
"""Rows in the tail before they become a part: a few megabytes of text, read back in well under a second."""

# Paths that this very process writes; its own process id in a lock file may also be that of an earlier life in a container.
_open_here: set[str] = set()


class RunWriter:
    """Writes one run folder, new or continued.

    Arguments:
        path: the run folder; it is made when it is not there. header: what is known of the run; None continues with the one on disk.
        rows_per_part: rows in the tail before they become a part.

    Raises ``UsageError`` when another live process writes to the folder, or when a run that is not there is to be continued.
    """

    def __init__(self, path: str | Path, header: Header | None = None, *, rows_per_part: int = ROWS_PER_PART) -> None:
        self.path = Path(path)
        self._rows_per_part = rows_per_part
        self._key = str(self.path.resolve())
        self._metrics = self.path / METRICS
        exists = (self.path / MANIFEST).is_file()
        if header is None and not exists:
            raise UsageError(f"{self.path}: there is no run to continue; give a header to start one")
        self._metrics.mkdir(parents=True, exist_ok=True)
        self._lock()
        try:
            if exists:
                manifest = migrate(read_manifest(self.path), str(self.path / MANIFEST))
                stored = manifest.get("header")
                header = header or header_from_json(stored if isinstance(stored, dict) else {}, None)  # pyright: ignore[reportUnknownArgumentType]
            assert header is not None
            self.header = header._replace(status="running")
            self._part: PartInWriting | None = None
            self._pending, self._next = self._recover()
            self._write_manifest("running")
            # Unbuffered: one write per row goes to the operating system, which keeps it when this process dies.
            self._tail = open(self._metrics / TAIL, "ab", buffering=0)  # noqa: SIM115 - closed in close()
            self._events = open(self.path / EVENTS, "ab", buffering=0)  # noqa: SIM115 - closed in close()
        except BaseException:
            self._unlock()
            raise
        self._closed = False

    def row(self, step: int, values: Mapping[str, float | None]) -> None:
        """Records values at a step; None is nothing logged. Rows of one step are joined; a step that goes back replaces what came after it.

        Raises ``ValueError`` for a name that is no channel.
        """
        clean: dict[str, float] = {}
        for channel, value in values.items():
            if not is_channel(channel):
                raise ValueError(f"{channel!r} is no channel; see sismo.records.channels")
            if value is not None:
                clean[channel] = float(value)
        row = Row(self._next, int(step), clean)
        _append(self._tail, row.line())
        self._pending.append(row)
        self._next += 1
        self._settle()
        # Beside the loop: a part takes longer to write than many a step to train.
        if self._part is None and len(self._pending) >= self._rows_per_part:
            self._part = PartInWriting(self._metrics, self._pending)

    def event(self, event: Event) -> None:
        """Records an event."""
        record = {"step": int(event.step), "kind": event.kind, "data": dict(event.data)}
        _append(self._events, (json.dumps(record, separators=(",", ":"), default=str) + "\n").encode())

    def describe(self, header: Header) -> None:
        """Replaces what the manifest says about the run."""
        self.header = header._replace(status="running")
        self._write_manifest("running")

    def roll(self) -> None:
        """Turns the rows in the tail into a finished part, and waits for it."""
        self._settle(wait=True)
        if self._pending:
            write_part(self._metrics, self._pending)
            self._cut(len(self._pending))

    def close(self, status: str = "completed") -> None:
        """Finishes the run with a status; closing twice does nothing."""
        if self._closed:
            return
        self._closed = True
        try:
            self.roll()
            self._write_manifest(status)
        finally:
            self._tail.close()
            self._events.close()
            self._unlock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close("completed" if kind is None else "crashed")

    def _settle(self, *, wait: bool = False) -> None:
        """Lets go of the rows of a part that has been written meanwhile. Raises what went wrong in writing it."""
        if self._part is not None and (wait or self._part.done):
            part, self._part = self._part, None
            part.wait()
            self._cut(part.rows)

    def _cut(self, rows: int) -> None:
        # The rows are in a part now; if the process dies before the tail is cut, their numbers tell that they are the same.
        self._pending = self._pending[rows:]
        _replace_tail(self._metrics, self._pending)
        self._tail.close()
        self._tail = open(self._metrics / TAIL, "ab", buffering=0)  # noqa: SIM115 - closed in close()

    def _recover(self) -> tuple[list[Row], int]:
        """Rows that an earlier writer left in the tail, which is rewritten without them where a part has them, and the next row number."""
        parts = parts_in(self.path)
        last = parts[-1][1] if parts else -1
        rows, _ = read_tail(self._metrics / TAIL)
        kept = [row for row in rows if row.number > last]
        _replace_tail(self._metrics, kept)
        _mend(self.path / EVENTS)
        for child in self._metrics.glob(".part-*.tmp"):
            child.unlink(missing_ok=True)
        return kept, max([last, *(row.number for row in kept)]) + 1

    def _write_manifest(self, status: str) -> None:
        write_json(self.path / MANIFEST, {"schema": SCHEMA_VERSION, "status": status, "header": header_to_json(self.header)})

    def _lock(self) -> None:
        pid = writer_of(self.path)
        if self._key in _open_here:
            raise UsageError(f"{self.path} is being written by this process; close the recorder that does, or give another folder")
        if pid is not None and pid != os.getpid():
            raise UsageError(f"{self.path} is being written by process {pid}; give another folder, or end that process first")
        lock = self.path / LOCK
        lock.unlink(missing_ok=True)
        try:
            with open(lock, "x", encoding="ascii") as file:
                file.write(str(os.getpid()))
        except FileExistsError:
            raise UsageError(f"{self.path} was taken by another process just now; give another folder") from None
        _open_here.add(self._key)

    def _unlock(self) -> None:
        _open_here.discard(self._key)
        with contextlib.suppress(OSError):
            (self.path / LOCK).unlink()


def _append(file: FileIO, line: bytes) -> None:
    if file.write(line) < len(line):
        # The disk took a part of it before it was full; the next write would go on in the middle of the line.
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), file.name)


def _replace_tail(metrics: Path, rows: Sequence[Row]) -> None:
    temporary = metrics / f".{TAIL}.tmp"
    temporary.write_bytes(b"".join(row.line() for row in rows))
    os.replace(temporary, metrics / TAIL)


def _mend(path: Path) -> None:
    """Cuts a torn last line, so that what is appended starts a line of its own."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return
    if data and not data.endswith(b"\n"):
        with open(path, "r+b") as file:
            file.truncate(data.rfind(b"\n") + 1)
