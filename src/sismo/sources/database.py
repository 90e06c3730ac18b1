"""SQLite files, opened to be read and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sismo.errors import MalformedLog
from sismo.sources.base import Content, Sample

if TYPE_CHECKING:
    import sqlite3

_MAGIC = b"SQLite format 3\x00"


def is_database(sample: Sample) -> bool:
    """Whether a sample begins as a SQLite file does; its head then holds the names of tables and columns."""
    return not sample.is_dir and sample.head.startswith(_MAGIC)


def opened(content: Content) -> sqlite3.Connection:
    """The database, read-only. Raises ``MalformedLog`` when it is broken, or no file of its own."""
    import sqlite3  # imported by every run otherwise
    from urllib.parse import quote

    if content.path is None or not content.plain:
        raise MalformedLog(content.label, "a database has to be a file of its own; unpack it first")
    database = sqlite3.connect(f"file:{quote(str(content.path.resolve()))}?mode=ro", uri=True)
    try:
        database.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.Error as error:
        database.close()
        raise MalformedLog(content.label, f"the database cannot be read ({error})") from None
    return database
