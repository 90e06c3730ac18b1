"""Arrow columns as arrays, from their buffers: ``to_numpy`` and ``fill_null`` import pandas where it is installed, half a second."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_PLAIN: dict[str, type[np.float64 | np.int64]] = {"double": np.float64, "int64": np.int64}
"""What is read as it lies there; a cast imports pyarrow.compute, a tenth of a second."""


def floats(column: Any) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The values of a ``ChunkedArray`` of numbers, NaN where there is none, and whether there is one.

    Raises ``pyarrow.ArrowException`` for a column that is not of numbers.
    """
    plain = column if str(column.type) in _PLAIN else column.cast("float64", safe=False)
    pieces = [_piece(chunk, _PLAIN[str(plain.type)]) for chunk in plain.chunks if len(chunk)]
    if not pieces:
        return np.empty(0), np.empty(0, dtype=np.bool_)
    values, present = zip(*pieces, strict=True)
    return np.concatenate(values), np.concatenate(present)


def integers(column: Any) -> NDArray[np.int64]:
    """The values of a ``ChunkedArray`` of whole numbers without a gap. Raises ``pyarrow.ArrowException`` for any other column."""
    plain = column if str(column.type) == "int64" else column.cast("int64")
    pieces = [_values(chunk, np.int64) for chunk in plain.chunks if len(chunk)]
    return np.concatenate(pieces) if pieces else np.empty(0, dtype=np.int64)


def _piece(chunk: Any, kind: type[np.float64 | np.int64]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The layout is Arrow's: a bit per value for validity, absent where all are valid, and the values beside it."""
    values = _values(chunk, kind).astype(np.float64, copy=False)
    if not chunk.null_count:
        return values, np.ones(len(chunk), dtype=np.bool_)
    bits = np.unpackbits(np.frombuffer(chunk.buffers()[0], dtype=np.uint8), bitorder="little")
    present = bits[chunk.offset : chunk.offset + len(chunk)].astype(np.bool_)
    return np.where(present, values, np.nan), present


def _values(chunk: Any, kind: type[Any]) -> NDArray[Any]:
    return np.frombuffer(chunk.buffers()[1], dtype=kind, count=len(chunk), offset=8 * chunk.offset)
