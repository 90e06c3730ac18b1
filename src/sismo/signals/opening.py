"""Spikes among the first rows of a series, where there is no baseline yet: rows that stand over those on both sides."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sismo.records.numeric import median
from sismo.signals.rolling import TINY, TO_SIGMA, Floats, medians

_BESIDE = 3
"""Rows on either side whose median a row is held against: one to three high rows do not move both, four do."""
_RELATIVE_FLOOR = 0.01


class Lone(NamedTuple):
    """Rows next to each other that stand alone: their places, the level beside them and the scale of the noise there."""

    places: tuple[int, ...]
    before: float
    scale: float


def lone(values: Floats, bar: float) -> list[Lone]:
    """The stretches of one to three of at least 8 rows that stand more than ``bar`` scales over both sides, in order.

    The highest is taken out first, so that its neighbours are judged without it. A row needs three rows before it and one after it.
    """
    left = np.arange(values.size)
    flagged: dict[int, tuple[float, float]] = {}
    while left.size > 2 * _BESIDE + 1:
        heights, level, scale = _heights(values[left])
        top = int(np.argmax(heights))
        if not heights[top] > bar * scale[top]:
            break
        flagged[int(left[top])] = (float(level[top]), float(scale[top]))
        left = np.delete(left, top)
    found: list[Lone] = []
    for place in sorted(flagged):
        if found and place == found[-1].places[-1] + 1:
            found[-1] = found[-1]._replace(places=(*found[-1].places, place))
        else:
            found.append(Lone((place,), *flagged[place]))
    return found


def _heights(values: Floats) -> tuple[Floats, Floats, Floats]:
    """How far each row is over the higher of the medians on its two sides, that median, and the scale of what the rows do about both."""
    windows = medians(np.lib.stride_tricks.sliding_window_view(values, _BESIDE))
    short = [median(values[-rows:]) for rows in range(_BESIDE - 1, 0, -1)]  # fewer rows where the series ends
    after = np.concatenate([windows[_BESIDE + 1 :], short])
    before, inner = windows[: after.size], values[_BESIDE:-1]
    level = np.maximum(before, after)
    noise = TO_SIGMA * median(np.abs(inner - 0.5 * (before + after)))
    heights = np.concatenate([np.full(_BESIDE, -np.inf), inner - level, [-np.inf]])
    padded = np.concatenate([np.zeros(_BESIDE), level, [0.0]])
    return heights, padded, np.maximum(noise, np.maximum(_RELATIVE_FLOOR * np.abs(padded), TINY))
