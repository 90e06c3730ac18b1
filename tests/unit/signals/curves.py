"""Series that tests share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sismo.records.types import Series
from sismo.signals.spikes import Spike, SpikeRule, SpikeTracker

Floats = NDArray[np.float64]


def descent(seed: int, rows: int = 1000, noise: float = 0.05) -> Floats:
    """A loss that decays from 7 to 2 in Gaussian noise."""
    return 2.0 + 5.0 * np.exp(-np.arange(rows) / 150.0) + noise * np.random.default_rng(seed).standard_normal(rows)


def autoregressive(seed: int, rows: int, memory: float) -> Floats:
    """Noise with a memory, of standard deviation 1."""
    shocks = np.random.default_rng(seed).standard_normal(rows) * (1.0 - memory * memory) ** 0.5
    values = np.empty(rows)
    last = 0.0
    for row, shock in enumerate(shocks.tolist()):
        last = memory * last + shock
        values[row] = last
    return values


def spikes_of(values: Floats, rule: SpikeRule | None = None) -> tuple[Spike, ...]:
    """All spikes of a series that is logged at every step from 0."""
    tracker = SpikeTracker(rule or SpikeRule())
    tracker.extend(np.arange(values.size), values)
    return tracker.spikes


def series(values: Floats, every: int = 1, channel: str = "loss/train") -> Series:
    """A series that is logged every so many steps from 0."""
    return Series(channel, np.arange(values.size, dtype=np.int64) * every, np.asarray(values, dtype=np.float64))
