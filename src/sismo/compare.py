"""Two runs side by side: where each series parts, and what was configured differently. Plain data; nothing is judged here.

Two steps are told for each series. ``differs`` is the first row that is not the same number: with one seed and one code that is where
something changed. ``parts`` is the first step at which one run is where the other never is about that time, by more than either wanders of
itself: with two seeds only that one means anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from sismo.records.types import Run, Series, Values

_SAME = 1e-9
"""Relative difference up to which two numbers are the same: what printing and reading a float may cost."""
_WINDOW, _SHARES = 25, (8, 40)
"""Rows of a window mean: 25, or less where that is over an eighth of the rows, or more where it is under a fortieth."""
_SIGMA, _FEW = 5.0, 80
"""How far apart two window means must be, in units of their own wandering; more where there are few rows to know it from."""
_LEVEL = 0.02
"""Share of the level that the difference must reach: less is not worth a line, however significant."""
_REACH = 0.2
"""How far from its place in time, as a share of it, a level of the other run still counts as the same: no seed falls as fast as another."""
_PLAIN = 0.5
"""Share of the larger value that a difference must reach where there are too few rows for anything finer."""
_LAGS = (1, 2, 4, 8, 16)
_GRID = 2_000
"""Windows that are looked at, at most: a run of a million rows is compared in as little time as one of thousands."""


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
    """Position from which window means of one run are outside everything that the other one has about that time.

    Neighbouring rows of a run resemble each other, so that the scatter from row to row says little about how far a window mean strays;
    that is measured on the window means themselves, over several distances.
    """
    few, many = _SHARES
    rows = left.size
    window = max(min(_WINDOW, rows // few), rows // many)
    if window < 2:
        return _plainly_apart(left, right)
    stride = max(1, rows // _GRID)
    a, b = _moving(left, window)[::stride], _moving(right, window)[::stride]
    step = max(1, window // stride)
    noise = np.hypot(_wander(a, step), _wander(b, step)) * (1 + _FEW / rows)
    level = np.maximum(_moving(np.abs(left), window), _moving(np.abs(right), window))[::stride]
    apart = np.maximum(_outside(a, b, step), _outside(b, a, step)) > np.maximum(_SIGMA * noise, _LEVEL * level)
    held = min(max(2, step // 2), apart.size)
    found = np.flatnonzero(_moving(apart.astype(np.float64), held) > 1 - 0.5 / held)
    return _beginning(left, right, int(found[0]) * stride, window) if found.size else None


def _plainly_apart(left: Values, right: Values) -> int | None:
    """With too few rows to know their noise: the row from which all that follow, three at least, are apart by half of the larger."""
    apart = np.abs(left - right) > _PLAIN * np.maximum(np.abs(left), np.abs(right))
    near = np.flatnonzero(~apart)
    first = int(near[-1]) + 1 if near.size else 0
    return first if left.size - first >= 3 else None


def _wander(means: Values, step: int) -> float:
    """How far window means stray about their trend, as a standard deviation: the most of several distances.

    From second differences, which a trend leaves alone, and from their lower third, which a jump or a spike leaves alone.
    """
    widths = [0.0]
    for lag in (step * times for times in _LAGS):
        if 2 * lag >= means.size or (lag > step and 7 * lag > means.size):
            break
        bends = np.abs(means[2 * lag :] - 2 * means[lag:-lag] + means[: -2 * lag])
        widths.append(float(np.quantile(bends, 0.3)) / 0.3853 / 6**0.5)  # 0.3853 σ is the 0.3 quantile of |N(0, σ)|
    return max(widths)


def _outside(means: Values, other: Values, step: int) -> Values:
    """How far each mean lies outside what the other run has within ``_REACH`` of its time; negative inside."""
    place = np.arange(means.size)
    reach = np.ceil(_REACH * (place + step)).astype(np.int64)
    low, high = _extremes(other, np.maximum(place - reach, 0), np.minimum(place + reach, means.size - 1))
    return np.maximum(means - high, low - means)


def _extremes(values: Values, first: NDArray[np.int64], last: NDArray[np.int64]) -> tuple[Values, Values]:
    """Lowest and highest value of each stretch ``first..last``: two stretches of a power of two cover any other."""
    low, high = np.empty(first.size), np.empty(first.size)
    powers = np.log2(last - first + 1).astype(np.int64)
    lows = highs = values
    for power in range(int(powers.max()) + 1):
        if power:
            half = 1 << (power - 1)
            lows, highs = np.minimum(lows[:-half], lows[half:]), np.maximum(highs[:-half], highs[half:])
        chosen = powers == power
        ends = first[chosen], last[chosen] + 1 - (1 << power)
        low[chosen] = np.minimum(lows[ends[0]], lows[ends[1]])
        high[chosen] = np.maximum(highs[ends[0]], highs[ends[1]])
    return low, high


def _beginning(left: Values, right: Values, first: int, window: int) -> int:
    """The row at which the two part, near the first window that is apart: where the mean of their difference changes the most."""
    if first == 0:
        early = np.abs(left - right)[:window] > _LEVEL * np.maximum(np.abs(left), np.abs(right))[:window]
        return int(np.argmax(early))
    start = max(0, first - window)
    gap = (left - right)[start : first + 2 * window]
    before = np.arange(1, gap.size)
    total = np.cumsum(gap)
    change = np.abs(total[:-1] - before * total[-1] / gap.size) / np.sqrt(before * (gap.size - before))
    return start + 1 + int(np.argmax(change))


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
    yield from ((name, value) for name, value in _nested("", run.header.config) if not _measured(name))


def _measured(name: str) -> bool:
    """Whether an entry of the configuration is what a recorder saw of itself: no two runs agree in it."""
    return name.startswith("sismo.cadence.") and name != "sismo.cadence.budget"


def _nested(prefix: str, config: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    for key, value in config.items():
        if isinstance(value, Mapping) and prefix.count(".") < 8:
            yield from _nested(f"{prefix}{key}.", cast("Mapping[str, object]", value))
        else:
            yield f"{prefix}{key}", str(cast("object", value))
