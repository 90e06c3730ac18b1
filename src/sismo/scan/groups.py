"""What a table of runs says as a whole: what fails, since when, and with which settings."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from sismo.records.numeric import wilson
from sismo.scan.types import STATES, Row, Scalar, State

MOST_VALUES = 12
"""Different values of a setting that are compared one by one; more numbers than that are put into quarters, more words are not compared."""
LEAST_RUNS = 5
"""Runs with a value under which nothing is said about it."""
_SURE = 2.58
"""z of the two intervals that must not overlap: 99 % each, apart by chance about once in 3,000 values; a scan compares some hundred."""
_BUCKETS = 40


class Group(NamedTuple):
    """One cause over all runs that have it first.

    Attributes:
        first, last: when the first and last of them were last written, POSIX seconds. step: the middle one of where it begins.
        rows: the runs, newest first. links: settings that go with it, strongest first.
    """

    cause: str
    severity: str
    first: float
    last: float
    step: int | None
    rows: Sequence[Row]
    links: Sequence[Link]


class Link(NamedTuple):
    """A value of a setting with which runs fail more often than with any other.

    Attributes:
        setting, value: as configured; a range for numbers. hit, of: runs with it that fail, and all with it.
        hit_else, of_else: the same for runs with another value.
    """

    setting: str
    value: str
    hit: int
    of: int
    hit_else: int
    of_else: int


class Bucket(NamedTuple):
    """Runs that were last written in one stretch of time, by state."""

    start: float
    end: float
    counts: Mapping[State, int]


def tally(rows: Iterable[Row]) -> dict[State, int]:
    """How many runs are in each state."""
    counts = Counter(row.state for row in rows)
    return {state: counts[state] for state in STATES}


def groups(rows: Sequence[Row]) -> list[Group]:
    """One group a cause, gravest first, then by number of runs."""
    by_cause: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        if row.fails:
            by_cause[row.cause].append(row)
    found = [_group(cause, sorted(mine, key=lambda row: -row.time), rows) for cause, mine in by_cause.items()]
    return sorted(found, key=lambda group: (group.severity != "broken", -len(group.rows), group.cause))


def links(rows: Sequence[Row], failing: Iterable[Row]) -> list[Link]:
    """Settings with whose value the failing runs are clearly more frequent than with all others, strongest first."""
    bad = {id(row) for row in failing}
    read = [row for row in rows if not row.error]
    names = dict.fromkeys(name for row in read for name in row.config)
    found: list[Link] = []
    for name in names:
        having = [(row.config[name], id(row) in bad) for row in read if name in row.config]
        found += _clear(name, _by_value([value for value, _ in having]), having)
    return sorted(found, key=lambda link: link.hit_else / max(1, link.of_else) - link.hit / link.of)


def timeline(rows: Iterable[Row]) -> list[Bucket]:
    """Runs over time, in stretches of equal length; empty where no times are known or all are one."""
    dated = [row for row in rows if row.time > 0]
    if not dated:
        return []
    start, end = min(row.time for row in dated), max(row.time for row in dated)
    if end - start < 1:
        return []
    width = (end - start) / _BUCKETS
    counts: list[Counter[State]] = [Counter() for _ in range(_BUCKETS)]
    for row in dated:
        counts[min(_BUCKETS - 1, int((row.time - start) / width))][row.state] += 1
    return [Bucket(start + width * at, start + width * (at + 1), count) for at, count in enumerate(counts)]


def _group(cause: str, mine: Sequence[Row], rows: Sequence[Row]) -> Group:
    steps = sorted(row.step for row in mine if row.step is not None)
    times = [row.time for row in mine if row.time > 0]
    worst = "broken" if any(row.severity == "broken" for row in mine) else "warning"
    middle = steps[len(steps) // 2] if steps else None
    return Group(cause, worst, min(times, default=0.0), max(times, default=0.0), middle, mine, links(rows, mine))


def _by_value(values: Sequence[Scalar]) -> dict[Scalar, str]:
    """What each value is called in a comparison; empty where there is nothing to compare."""
    different = set(values)
    if len(different) < 2:
        return {}
    if len(different) <= MOST_VALUES:
        return {value: _told(value) for value in different}
    numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)]
    if len(numbers) < len(values):
        return {}
    ordered = sorted(numbers)
    edges = [ordered[len(ordered) * quarter // 4] for quarter in (1, 2, 3)]
    told: dict[Scalar, str] = {}
    for value in numbers:
        quarter = sum(value >= edge for edge in edges)
        low = f"≥ {_told(edges[quarter - 1])}" if quarter else ""
        high = f"< {_told(edges[quarter])}" if quarter < 3 else ""
        told[value] = ", ".join(part for part in (low, high) if part)
    return told


def _clear(name: str, called: Mapping[Scalar, str], having: Sequence[tuple[Scalar, bool]]) -> Iterable[Link]:
    if not called:
        return
    of, hit = Counter(called[value] for value, _ in having), Counter(called[value] for value, bad in having if bad)
    total, failing = len(having), sum(hit.values())
    for value, count in of.items():
        link = Link(name, value, hit[value], count, failing - hit[value], total - count)
        if count >= LEAST_RUNS and link.of_else >= LEAST_RUNS:
            low, _ = wilson(link.hit, link.of, _SURE)
            _, high = wilson(link.hit_else, link.of_else, _SURE)
            if low > high:
                yield link


def _told(value: Scalar) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
