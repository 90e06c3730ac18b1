"""Numbers without slow imports: ``np.median`` and ``np.unique`` load ``numpy.ma``, which costs as much as reading a thousand rows."""

from __future__ import annotations

import math

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


def wilson(count: int, total: int, z: float = 1.96) -> tuple[float, float]:
    """The Wilson score interval of a share, from 0 to 1 (Wilson 1927): z 1.96 for 95 %. The whole range where there is nothing to count."""
    if not total:
        return 0.0, 1.0
    p = count / total
    middle, half = p + z * z / (2 * total), z * math.sqrt(p * (1 - p) / total + z * z / (4 * total * total))
    low, high = (middle - half) / (1 + z * z / total), (middle + half) / (1 + z * z / total)
    return max(low, 0.0), min(high, 1.0)
