"""Arrow columns as arrays, from their buffers: ``to_numpy`` and ``fill_null`` import pandas where it is installed, half a second."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def floats(column: Any) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The values of a ``ChunkedArray`` of numbers, NaN where there is none, and whether there is one.

    Raises ``pyarrow.ArrowException`` for a column that is not of numbers.
    """
    pieces = [_piece(chunk) for chunk in column.cast("float64", safe=False).chunks if len(chunk)]
    if not pieces:
        return np.empty(0), np.empty(0, dtype=np.bool_)
    values, present = zip(*pieces, strict=True)
    return np.concatenate(values), np.concatenate(present)


def integers(column: Any) -> NDArray[np.int64]:
    """The values of a ``ChunkedArray`` of whole numbers without a gap. Raises ``pyarrow.ArrowException`` for any other column."""
    chunks = [chunk for chunk in column.cast("int64").chunks if len(chunk)]
    pieces = [np.frombuffer(chunk.buffers()[1], dtype=np.int64, count=len(chunk), offset=8 * chunk.offset) for chunk in chunks]
    return np.concatenate(pieces) if pieces else np.empty(0, dtype=np.int64)


def _piece(chunk: Any) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The layout is Arrow's: a bit per value for validity, absent where all are valid, and the values beside it."""
    valid, data = chunk.buffers()
    values = np.frombuffer(data, dtype=np.float64, count=len(chunk), offset=8 * chunk.offset)
    if not chunk.null_count:
        return values, np.ones(len(chunk), dtype=np.bool_)
    bits = np.unpackbits(np.frombuffer(valid, dtype=np.uint8), bitorder="little")
    present = bits[chunk.offset : chunk.offset + len(chunk)].astype(np.bool_)
    return np.where(present, values, np.nan), present
