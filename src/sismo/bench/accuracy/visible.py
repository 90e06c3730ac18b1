"""Which faults the log shows at all: those whose log stands further out of the healthy ones of its model than any healthy log does.

What a log without a twin can tell is bounded by that. Each log becomes levels over twenty parts of the run, in logarithms, and stands out
by the largest distance to the range of the other logs, in widths of that range. The bar is the largest such distance of a healthy log to
the range of the other healthy ones (conformal prediction with the maximum as its score: Vovk, Gammerman and Shafer 2005, chapter 2).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from sismo.records.types import Run, Series

CHANNELS = ("loss/train", "loss/val", "lr/0", "grad_norm/pre")
"""What a plain log has."""
_PARTS = 20
_LEAST, _FLOOR = 1e-12, 0.05
"""Smallest magnitude that is told from 0; least width of a range, in natural logarithms: 5 %."""

Shape = NDArray[np.float64]


def shape(run: Run) -> Shape:
    """The middle, the top and the bottom of each part, and the share of it that is lost, for each channel of a log.

    Float64, ``len(CHANNELS) * 4 * 20`` values; NaN where the log has no row.
    """
    return np.concatenate([_levels(run.series.get(channel)) for channel in CHANNELS])


def outstanding(faulty: Mapping[str, Shape], healthy: Sequence[Shape]) -> set[str]:
    """The names of the faulty logs that stand out. ``healthy``: logs of the same model; with fewer than three, every fault does."""
    if len(healthy) < 3:
        return set(faulty)
    table = np.array(healthy)
    bar = max(_distance(table[at], np.delete(table, at, axis=0)) for at in range(len(table)))
    return {name for name, one in faulty.items() if _distance(one, table) > bar}


def _levels(series: Series | None) -> Shape:
    out = np.full((4, _PARTS), np.nan)
    if series is None or len(series) < _PARTS:
        return out.ravel()
    for at, part in enumerate(np.array_split(series.values, _PARTS)):
        finite = np.log(np.maximum(np.abs(part[np.isfinite(part)]), _LEAST))
        out[3, at] = 1.0 - finite.size / part.size
        if finite.size:
            out[:3, at] = np.median(finite), finite.max(), finite.min()
    return out.ravel()


def _distance(one: Shape, others: Shape) -> float:
    """How far a log stands out of the range of others: 0 within it, infinite where it lost what no other did or has what none has."""
    known = ~np.isnan(one)
    seen = ~np.isnan(others).all(axis=0)
    if bool(np.any(known & ~seen)) or bool(np.any(~known & ~np.isnan(others).any(axis=0))):
        return float("inf")
    one, others = one[known], others[:, known]
    low, high = np.nanmin(others, axis=0), np.nanmax(others, axis=0)
    return float(np.max(np.maximum(one - high, low - one) / np.maximum(high - low, _FLOOR), initial=0.0))
