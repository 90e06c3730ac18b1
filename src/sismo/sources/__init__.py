"""Other people's logs, read into runs: ``load`` takes a path and needs no hint about the format."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from sismo.errors import SourceError
from sismo.records.types import Run

__all__ = ["load"]


def load(path: str | Path, mapping: Mapping[str, str] | None = None, refused: list[SourceError] | None = None) -> list[Run]:
    """Reads every run at a path.

    Arguments:
        path: a log file, a folder, or ``-`` for standard input. mapping: channel to the log's own column (``{"loss/train": "my_col"}``),
            for what cannot be told from the names; ``step`` can be mapped too. refused: gets an error for every file of a folder that
            could not be read while others could.

    Returns the runs in the order of the log, never an empty list. Raises ``UnrecognisedLog`` when there is no loss to be found,
    ``MalformedLog`` when a known format is broken beyond reading, ``UsageError`` for a mapping that names nothing.
    """
    from sismo.sources.assemble import assemble
    from sismo.sources.base import Table
    from sismo.sources.sniff import read

    label = str(path)
    found = read(label, refused)
    tables = [one for one in found if isinstance(one, Table)]
    runs = [one for one in found if isinstance(one, Run)]
    return runs + assemble(label, tables, mapping or {}) if tables else runs
