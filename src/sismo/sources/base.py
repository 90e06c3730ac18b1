"""What a log format is: something that recognises its own files and turns them into a table.

Formats only translate. They emit a ``Table`` with the log's own keys; ``assemble`` turns tables into runs: it names the channels,
finds the step axis, and tells runs, resumes and resets apart. Formats never import each other.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sismo.records.types import NOTHING, Note, Run


class Column(NamedTuple):
    """One key of a log over all its rows.

    Attributes:
        values: float64, one per row; NaN where the log had NaN *or* nothing.
        present: bool, one per row: whether the row had a number (NaN counts) under this key.
    """

    values: NDArray[np.float64]
    present: NDArray[np.bool_]


class Mark(NamedTuple):
    """Something in a log that is not a measurement, with its place among the rows.

    Attributes:
        row: index of the first table row after it.
        kind: ``overflow``, ``skipped_step``, ``resume``, ``checkpoint``, ``warning``, ``crash``,
        ``run`` (a new run starts; data: ``name``).
        data: what the line said.
    """

    row: int
    kind: str
    data: Mapping[str, object] = NOTHING


class Table(NamedTuple):
    """What a format read: columns under the log's own keys, marks between rows, and what is known of the run.

    Attributes:
        source: name of the format. n_rows: number of rows. columns: key to column, in order of appearance.
        marks: in order of row. config: key to value, for the header. notes: what was skipped or guessed.
        dialect: how keys of this format are to be read where names are ambiguous (``ultralytics``, ``fairseq`` …).
    """

    source: str
    n_rows: int
    columns: Mapping[str, Column]
    marks: Sequence[Mark] = ()
    config: Mapping[str, object] = NOTHING
    notes: Sequence[Note] = ()
    dialect: str = ""


class Sample(NamedTuple):
    """What the sniffer sees of an input before it is read.

    Attributes:
        name: file name, lower case, without ``.gz`` or ``.zst``. head: first 64 KiB, decompressed. is_dir: a folder.
        path: where it lies, None for standard input. text: ``head`` decoded, empty for binary.
    """

    name: str
    head: bytes
    is_dir: bool
    path: Path | None
    text: str


class Format(ABC):
    """One kind of file. A module in ``formats/`` takes part by having a ``FORMAT`` instance."""

    name: str
    """kebab-case, shown to the user (``hf-trainer-state``)."""
    about: str
    """one line for ``--help`` and the docs."""

    @abstractmethod
    def score(self, sample: Sample) -> int:
        """How sure it is that the sample is of its kind: 0 (not at all) to 100 (certain)."""

    @abstractmethod
    def read(self, content: Content) -> list[Table | Run]:
        """Reads it whole; a format whose rows are already channels gives runs. Bad rows are counted in notes.

        Raises ``MalformedLog`` only when nothing can be read.
        """


class Content(ABC):
    """The input behind a sample, opened on demand: decompressed, and decoded where text is asked for."""

    label: str
    """the path as the user wrote it, ``-`` for standard input."""
    path: Path | None
    """where it lies; None for standard input and pipes."""
    plain: bool
    """whether it is a file whose bytes are those of the log, so that a library may read it by its path."""

    @abstractmethod
    def data(self) -> bytes:
        """All bytes, decompressed."""

    @abstractmethod
    def text(self) -> str:
        """All text: decoded (UTF-8, UTF-16 by BOM, else Latin-1), ANSI codes and NULs dropped, every line end a plain newline."""

    def texts(self) -> Iterator[str]:
        """The same as ``lines`` gives, many of them at a time, parted by newlines; blank ones may be among them."""
        yield from self.lines()

    @abstractmethod
    def lines(self, *, coded: bool = False) -> Iterator[str]:
        """Non-empty lines in bounded memory; lines that are too long are skipped and noted. ``coded`` leaves their ANSI codes in."""
