"""What was read already, one line a unit, written as it comes: a scan goes on there, and what has not changed is not read again."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from sismo.scan.finding import Unit
from sismo.scan.types import Row

FILE = "seen.jsonl"


class Journal:
    """The journal of a folder. ``salt`` is what the rows depend on besides the files: rows of another salt are not used."""

    def __init__(self, folder: Path, salt: str) -> None:
        self._path, self._salt = folder / FILE, salt
        self._seen = {line[0]: line for line in self._lines()}
        self._file = self._path.open("ab")

    def rows(self, unit: Unit) -> list[Row] | None:
        """The rows of a unit as it is now, or None when it has to be read."""
        seen = self._seen.get(unit.place)
        if seen is None or seen[1] != unit.fingerprint(self._salt):
            return None
        return [Row(**row) for row in seen[2]]  # pyright: ignore[reportArgumentType] - written by add()

    def add(self, read: Iterable[tuple[Unit, Sequence[Row]]]) -> None:
        """Keeps the rows of some units."""
        lines = [
            (unit.place, unit.fingerprint(self._salt), [{**row._asdict(), "config": dict(row.config)} for row in rows])
            for unit, rows in read
        ]
        self._seen.update({line[0]: line for line in lines})
        # One write: what is cut off by a kill is one bundle, and its broken line is passed over.
        self._file.write(b"".join(_line(line) for line in lines))
        self._file.flush()

    def compact(self) -> None:
        """Drops the lines that later ones replaced."""
        whole = self._path.with_suffix(".part")
        whole.write_bytes(b"".join(_line(line) for line in self._seen.values()))
        whole.replace(self._path)

    def _lines(self) -> Iterable[tuple[str, str, list[dict[str, object]]]]:
        if not self._path.exists():
            return
        for line in self._path.read_bytes().split(b"\n"):
            try:
                place, fingerprint, rows = json.loads(line)
            except ValueError:
                continue
            yield place, fingerprint, rows

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._file.close()


def _line(line: tuple[str, str, list[dict[str, object]]]) -> bytes:
    # A line end first: behind a line that was cut off, the next one stays whole.
    return b"\n" + json.dumps(line).encode()
