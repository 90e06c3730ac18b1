"""MLflow's SQLite store: a table ``metrics`` with ``key, value, run_uuid, step, is_nan``, one row a measurement."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING

from sismo.records.types import Run
from sismo.sources.base import Content, Format, Sample, Table
from sismo.sources.database import is_database, opened
from sismo.sources.objects import add_points
from sismo.sources.rows import RowBuilder

if TYPE_CHECKING:
    import sqlite3

_LARGEST = 1.7976931348623157e308
"""What the store holds for an infinite value."""


class MlflowDatabase(Format):
    name = "mlflow-db"
    about = "MLflow's SQLite store: mlflow.db"

    def score(self, sample: Sample) -> int:
        return 95 if is_database(sample) and b"run_uuid" in sample.head and b"is_nan" in sample.head else 0

    def read(self, content: Content) -> list[Table | Run]:
        with closing(opened(content)) as database:
            names = dict(database.execute("SELECT run_uuid, name FROM runs").fetchall())
            return [_run(database, self.name, run, str(name or run)) for run, name in names.items()]


def _run(database: sqlite3.Connection, source: str, run: str, name: str) -> Table:
    builder = RowBuilder(source)
    add_points(builder, _points(database, run))
    builder.config.update(dict(database.execute("SELECT key, value FROM params WHERE run_uuid = ?", (run,)).fetchall()))
    builder.config["log_file"] = name
    return builder.table()


def _points(database: sqlite3.Connection, run: str) -> Iterator[tuple[str, float, float]]:
    rows = database.execute("SELECT key, step, value, is_nan FROM metrics WHERE run_uuid = ? ORDER BY timestamp", (run,))
    for key, step, value, is_nan in rows:
        lost = math.nan if is_nan else math.copysign(math.inf, value) if abs(value) >= _LARGEST else value
        yield str(key), float(step), float(lost)


FORMAT = MlflowDatabase()
