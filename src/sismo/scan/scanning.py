"""The scan itself: list, skip what is known, spread the rest over workers, and gather."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from sismo import __version__, fingerprint
from sismo.errors import UsageError
from sismo.scan.finding import Unit, units
from sismo.scan.journal import Journal
from sismo.scan.listing import listing
from sismo.scan.reading import Bundle, lost, read
from sismo.scan.types import Row
from sismo.workers import Workers

_MOST, _ROUNDS = 32, 8
"""Units in a bundle at most; and bundles that each worker should get at least, so that none of them waits long for the last."""

_JUDGING = ("records", "sources", "signals", "tree", "judge.py", "scan")
"""The parts of sismo that a row depends on."""


class Scanned(NamedTuple):
    """What came of a scan.

    Attributes:
        rows: one for every run and for what could not be read, in the order of the paths. units: files and run folders that there were.
        known: how many of them had been read before. strays: files beside runs that are no logs and were passed over.
    """

    rows: Sequence[Row]
    units: int
    known: int
    strays: int


def scan(paths: Sequence[str], folder: Path, workers: Workers, advance: Callable[[str, int], None]) -> Scanned:
    """Reads and judges every run under some paths.

    Arguments:
        paths: files, folders and URLs. folder: where the journal is kept. workers: who reads.
        advance: called with the place of each unit that was read and how many there are to read.

    Raises ``UsageError`` when a path is not there, or holds nothing that could be a log.
    """
    found, closed = _found(paths)
    salt = f"{__version__} {fingerprint.of_code(*_JUDGING)}"
    rows: dict[str, Sequence[Row]] = {}
    with Journal(folder, salt) as journal:
        for unit in found:
            if (seen := journal.rows(unit)) is not None:
                rows[unit.place] = seen
        left = [unit for unit in found if unit.place not in rows]
        known = len(rows)
        for read_now in _read_all(left, workers):
            journal.add(read_now)
            for unit, of_unit in read_now:
                rows[unit.place] = of_unit
                advance(unit.place, len(left))
        if left:
            journal.compact()
    ordered = [row for unit in found for row in rows[unit.place]]
    kept = _without_strays(ordered)
    return Scanned([*kept, *closed], len(found), known, len(ordered) - len(kept))


def _found(paths: Sequence[str]) -> tuple[list[Unit], list[Row]]:
    found: dict[str, Unit] = {}
    closed: list[Row] = []
    for path in paths:
        listed = listing(path)
        closed += [Row(place, error=reason) for place, reason in listed.closed]
        inside = units(listed)
        if not inside and not listed.closed:
            raise UsageError(f"{path}: nothing in it is called like a log")
        found.update({unit.place: unit for unit in inside})
    return list(found.values()), closed


def _read_all(left: Sequence[Unit], workers: Workers) -> Iterator[list[tuple[Unit, list[Row]]]]:
    size = max(1, min(_MOST, len(left) // (_ROUNDS * workers.count)))
    bundles = [Bundle(left[at : at + size]) for at in range(0, len(left), size)]
    again: list[Bundle] = []
    for done in workers.map(read, bundles):
        if done.result is not None:
            yield done.result
        elif len(done.task.units) > 1:
            # One of them killed its worker; the others can still be read.
            again += [Bundle([unit]) for unit in done.task.units]
        else:
            yield [(unit, lost(unit, done.lost)) for unit in done.task.units]
    for done in workers.map(read, again):
        yield done.result if done.result is not None else [(unit, lost(unit, done.lost)) for unit in done.task.units]


def _without_strays(rows: Sequence[Row]) -> list[Row]:
    """Drops what is no log where there are runs beside, above or below it (settings, notes); of other such files one a folder is kept."""
    runs = [row for row in rows if not row.unrecognised]
    beside = {_folder(row.path) for row in runs} | {row.path for row in runs}
    above = {folder for row in runs for folder in _around(_folder(row.path))}
    kept: dict[str, Row] = {}
    for row in rows:
        folder = _folder(row.path)
        if not row.unrecognised:
            kept[f"{row.path}\0{row.name}\0{len(kept)}"] = row
        elif folder not in above and not any(one in beside for one in _around(folder)):
            kept.setdefault(folder, row._replace(path=folder))
    return list(kept.values())


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _around(path: str) -> Iterator[str]:
    while path:
        yield path
        path = _folder(path)
