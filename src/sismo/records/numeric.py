"""Numbers without slow imports: ``np.median`` and ``np.unique`` load ``numpy.ma``, which costs as much as reading a thousand rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def median(values: NDArray[np.float64] | NDArray[np.int64]) -> float:
    """The median; NaN for an empty array. Equal to ``np.median`` wherever no value is NaN."""
    size = int(values.size)
    if not size:
        return float("nan")
    half = size // 2
    if size % 2:
        return float(np.partition(values, half)[half])
    parts = np.partition(values, (half - 1, half))
    return (float(parts[half - 1]) + float(parts[half])) / 2


def distinct(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The different values in rising order, as ``np.unique`` gives them; no NaN among them."""
    ordered = np.sort(values)
    return ordered[np.append(True, np.diff(ordered) > 0)] if ordered.size else ordered
