"""Trackio: a SQLite table ``metrics`` with ``run_name, step, metrics``, where metrics is ``{"loss": 2.31, "lr": 0.0003}``."""

from __future__ import annotations

import json
from contextlib import closing
from typing import cast

from sismo.records.types import Run
from sismo.sources.base import Content, Format, Sample, Table
from sismo.sources.database import is_database, opened
from sismo.sources.objects import add_record
from sismo.sources.rows import RowBuilder


class Trackio(Format):
    name = "trackio"
    about = "Trackio's SQLite store: the database of a project"

    def score(self, sample: Sample) -> int:
        return 90 if is_database(sample) and b"run_name" in sample.head and b"metrics" in sample.head else 0

    def read(self, content: Content) -> list[Table | Run]:
        runs: dict[str, RowBuilder] = {}
        with closing(opened(content)) as database:
            for name, step, text in database.execute("SELECT run_name, step, metrics FROM metrics ORDER BY id"):
                builder = runs.setdefault(str(name), RowBuilder(self.name))
                try:
                    row = json.loads(text)
                except ValueError:
                    row = None
                if not isinstance(row, dict) or not add_record(builder, {"step": step, **cast("dict[str, object]", row)}):
                    builder.skipped += 1
        for name, builder in runs.items():
            builder.config["log_file"] = name
        return [builder.table() for builder in runs.values()]


FORMAT = Trackio()
