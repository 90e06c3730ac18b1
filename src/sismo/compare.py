"""Two runs side by side: where each series parts, and what was configured differently. Plain data; nothing is judged here.

Two steps are told for each series. ``differs`` is the first row that is not the same number: with one seed and one code that is where
something changed. ``parts`` is the first step from which the difference is larger than the noise of both, and stays: with two seeds only
that one means anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from sismo.records.types import Run, Series, Values

_SAME = 1e-9
"""Relative difference up to which two numbers are the same: what printing and reading a float may cost."""
_WINDOW = 25
"""Rows over which the difference must stay."""
_SIGMA = 4.0
"""The mean difference of a window over its standard error: 4 is passed once in 16,000 windows of noise."""
_LEVEL = 0.02
"""Share of the level that the difference must reach: less is not worth a line, however significant."""


class Parting(NamedTuple):
    """One series in two runs. ``rows`` is how many steps both have; the last values are those at the last common step."""

    channel: str
    rows: int
    differs: int | None
    parts: int | None
    last: tuple[float, float]


class Setting(NamedTuple):
    """One thing that was configured differently; None where a run does not say."""

    name: str
    a: str | None
    b: str | None


class Comparison(NamedTuple):
    """Two runs, aligned by step. ``only_a`` and ``only_b`` are channels that one of them lacks."""

    a: str
    b: str
    series: tuple[Parting, ...]
    settings: tuple[Setting, ...]
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]

    @property
    def first(self) -> Parting | None:
        """The series that parts first, or else the one that differs first."""
        parted = [one for one in self.series if one.parts is not None]
        differing = [one for one in self.series if one.differs is not None]
        if parted:
            return min(parted, key=lambda one: one.parts or 0)
        return min(differing, key=lambda one: one.differs or 0) if differing else None


def compare(a: Run, b: Run) -> Comparison:
    """Aligns two runs by step and says where they part."""
    common = [name for name in a.series if name in b.series]
    return Comparison(
        a=a.path,
        b=b.path,
        series=tuple(_parting(a.series[name], b.series[name]) for name in common),
        settings=tuple(_settings(a, b)),
        only_a=tuple(name for name in a.series if name not in b.series),
        only_b=tuple(name for name in b.series if name not in a.series),
    )


def _parting(a: Series, b: Series) -> Parting:
    steps, at_a, at_b = np.intersect1d(a.steps, b.steps, assume_unique=True, return_indices=True)
    if not steps.size:
        return Parting(a.channel, 0, None, None, (float("nan"), float("nan")))
    left, right = a.values[at_a], b.values[at_b]
    unlike = _unlike(left, right)
    differs = int(steps[int(np.argmax(unlike))]) if bool(unlike.any()) else None
    place = _parts(left, right) if differs is not None else None
    return Parting(
        a.channel, int(steps.size), differs, int(steps[place]) if place is not None else None, (float(left[-1]), float(right[-1]))
    )


def _unlike(left: Values, right: Values) -> NDArray[np.bool_]:
    size = np.maximum(np.abs(left), np.abs(right))
    with np.errstate(invalid="ignore"):
        same = (left == right) | (np.abs(left - right) <= _SAME * size) | (np.isnan(left) & np.isnan(right))
    return ~same


def _parts(left: Values, right: Values) -> int | None:
    """Position from which the two stay apart; a row that is finite in one of them only is apart at once."""
    alive = np.isfinite(left) == np.isfinite(right)
    lost = int(np.argmin(alive)) if not bool(alive.all()) else None
    both = np.isfinite(left) & np.isfinite(right)
    places = np.flatnonzero(both)
    found = _stays_apart(left[both], right[both])
    candidates = [place for place in (lost, int(places[found]) if found is not None else None) if place is not None]
    return min(candidates) if candidates else None


def _stays_apart(left: Values, right: Values) -> int | None:
    window = min(_WINDOW, left.size)
    if window < 2:
        return None
    gap = left - right
    # The noise of both from row to row. A smooth series has none, and then the level alone decides.
    noise = np.median(np.abs(np.diff(gap))) / 0.6745 / np.sqrt(2.0)
    mean = _moving(gap, window)
    level = np.maximum(_moving(np.abs(left), window), _moving(np.abs(right), window))
    apart = (np.abs(mean) > _SIGMA * noise / np.sqrt(window)) & (np.abs(mean) > _LEVEL * level)
    if not bool(apart.any()):
        return None
    first = int(np.argmax(apart))
    # The window that is apart may begin in rows that are not yet: the parting is the first row of it that is off by itself.
    own = np.abs(gap[first : first + window]) > np.maximum(_LEVEL * np.abs(left[first : first + window]), 2 * noise)
    return first + int(np.argmax(own))


def _moving(values: Values, window: int) -> Values:
    total = np.concatenate([[0.0], np.cumsum(values)])
    return (total[window:] - total[:-window]) / window


def _settings(a: Run, b: Run) -> Iterator[Setting]:
    left, right = dict(_flat(a)), dict(_flat(b))
    for name in dict.fromkeys([*left, *right]):
        if left.get(name) != right.get(name):
            yield Setting(name, left.get(name), right.get(name))


def _flat(run: Run) -> Iterator[tuple[str, str]]:
    for name, value in run.header._asdict().items():
        if name not in {"config", "name", "status"} and value is not None:
            yield name, str(value)
    yield from _nested("", run.header.config)


def _nested(prefix: str, config: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    for key, value in config.items():
        if isinstance(value, Mapping) and prefix.count(".") < 8:
            yield from _nested(f"{prefix}{key}.", cast("Mapping[str, object]", value))
        else:
            yield f"{prefix}{key}", str(cast("object", value))
