"""The table of a scan: one Parquet file, a line a run, a column a setting."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from sismo.scan.types import Row, Scalar

PREFIX = "config."
"""What stands before the name of a setting's column."""


def write(rows: Sequence[Row], path: Path) -> None:
    """Writes the table whole or not at all."""
    beside = path.with_suffix(".part")
    pq.write_table(table(rows), beside)
    beside.replace(path)


def table(rows: Sequence[Row]) -> pa.Table:
    """The rows as columns. A setting that is a number in every run is a number; one that is not is text."""
    columns: dict[str, pa.Array] = {
        "path": _column([row.path for row in rows], pa.string()),
        "name": _column([row.name for row in rows], pa.string()),
        "source": _column([row.source for row in rows], pa.string()),
        "state": _column([row.state for row in rows], pa.string()),
        "healthy": _column([row.healthy for row in rows], pa.bool_()),
        "severity": _column([None if row.error else row.severity for row in rows], pa.string()),
        "cause": _column([row.cause or None for row in rows], pa.string()),
        "confidence": _column([row.confidence for row in rows], pa.float64()),
        "step": _column([row.step for row in rows], pa.int64()),
        "step_unit": _column([row.step_unit for row in rows], pa.string()),
        "rows": _column([row.rows for row in rows], pa.int64()),
        "status": _column([row.status or None for row in rows], pa.string()),
        "time": _column([int(row.time * 1000) or None for row in rows], pa.timestamp("ms", tz="UTC")),
        "error": _column([row.error or None for row in rows], pa.string()),
    }
    names = sorted({name for row in rows for name in row.config})
    columns |= {f"{PREFIX}{name}": _setting([row.config.get(name) for row in rows]) for name in names}
    return pa.table(columns)


def _column(values: Sequence[object], kind: pa.DataType) -> pa.Array:
    return pa.array([_whole(value) if isinstance(value, str) else value for value in values], kind)


def _whole(text: str) -> str:
    """The text without the halves of characters that a file name may hold and Parquet may not."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _setting(values: Sequence[Scalar | None]) -> pa.Array:
    kinds = {type(value) for value in values if value is not None}
    if kinds == {bool}:
        return pa.array(values, pa.bool_())
    if kinds <= {int, float}:
        return pa.array([None if value is None else float(value) for value in values], pa.float64())
    return _column([None if value is None else str(value) for value in values], pa.string())
