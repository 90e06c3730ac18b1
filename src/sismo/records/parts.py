"""Finished parts: Parquet files that any reader opens, one row a step. The only module here that needs pyarrow."""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sismo.records.arrow import floats, integers
from sismo.records.schema import part_name
from sismo.records.tail import Row

Columns = dict[str, tuple[NDArray[np.float64], NDArray[np.bool_]]]
"""Channel to values and to whether the row has one."""


def _arrow() -> tuple[Any, Any]:
    """pyarrow and its Parquet module, imported on first use and untyped, as they ship no types."""
    return importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")


def merge(rows: Sequence[Row]) -> list[tuple[int, dict[str, float]]]:
    """One entry a step, in order: rows of the same step are joined, rows at or after a step that was gone back to are dropped."""
    merged: list[tuple[int, dict[str, float]]] = []
    for row in rows:
        if merged and merged[-1][0] > row.step:
            while merged and merged[-1][0] >= row.step:
                merged.pop()
        if merged and merged[-1][0] == row.step:
            merged[-1][1].update(row.values)
        else:
            merged.append((row.step, dict(row.values)))
    return merged


def write_part(metrics: Path, rows: Sequence[Row]) -> Path:
    """Writes rows as a part that appears whole or not at all."""
    pyarrow, parquet = _arrow()
    merged = merge(rows)
    channels = list(dict.fromkeys(channel for _, values in merged for channel in values))
    arrays = [pyarrow.array([step for step, _ in merged], pyarrow.int64())]
    arrays += [pyarrow.array([values.get(channel) for _, values in merged], pyarrow.float64(), from_pandas=False) for channel in channels]
    table = pyarrow.table(arrays, names=["step", *channels])
    path = metrics / part_name(rows[0].number, rows[-1].number)
    temporary = metrics / f".{path.name}.tmp"
    parquet.write_table(table, temporary)
    with open(temporary, "rb") as file:
        os.fsync(file.fileno())
    os.replace(temporary, path)
    return path


def read_part(path: Path) -> tuple[NDArray[np.int64], Columns]:
    """Steps and columns of a part. Raises ``OSError`` or ``ValueError`` when it is not one."""
    pyarrow, parquet = _arrow()
    try:
        with parquet.ParquetFile(path) as file:  # read_table makes a data set of the one file: three times as long for a small run
            table = file.read(use_threads=False)
        steps = integers(table.column("step"))
        columns: Columns = {name: floats(table.column(name)) for name in table.column_names if name != "step"}
    except (pyarrow.ArrowException, KeyError) as error:
        raise ValueError(str(error).splitlines()[0] if str(error) else "not a Parquet file") from error
    return steps, columns


def tail_columns(rows: Sequence[Row]) -> tuple[NDArray[np.int64], Columns]:
    """The rows of a tail in the same form."""
    steps = np.asarray([row.step for row in rows], dtype=np.int64)
    columns: Columns = {}
    for at, row in enumerate(rows):
        for channel, value in row.values.items():
            if channel not in columns:
                columns[channel] = (np.full(len(rows), np.nan), np.zeros(len(rows), dtype=np.bool_))
            columns[channel][0][at] = value
            columns[channel][1][at] = True
    return steps, columns
