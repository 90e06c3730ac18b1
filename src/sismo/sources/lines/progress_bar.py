"""A plain progress bar, ``20/8720 [01:38<11:01:39, 4.56s/it]``: where the run is, for messages beside it that name no step."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from sismo.sources.cells import Cell, Parsed
from sismo.sources.line import Line, TextLog

_BAR = re.compile(r"(?:^|\d%\|[^|]*\||\d%)\s*(\d+)/(\d+)\s*\[\d[\d:]*<[^\]]*\]")
_DESCRIBED = re.compile(r"^\s*[A-Za-z][^|\[\]]*:\s*\d+%")
_COUNT, _TOTAL = "count", "total"


def parse(line: str) -> Parsed | None:
    """The one bar on a line."""
    bars = [] if _DESCRIBED.match(line) else [*_BAR.finditer(line)]
    if len(bars) != 1:
        return None
    return Parsed([Cell(_COUNT, *bars[0].span(1)), Cell(_TOTAL, *bars[0].span(2))])


def settle(row: Mapping[str, float], _: str, log: TextLog) -> None:
    if log.bar is None or row[_TOTAL] >= log.bar[1]:
        log.bar = (row[_COUNT], row[_TOTAL])


def settle_run(columns: Mapping[str, NDArray[np.float64]], _: str, log: TextLog) -> None:
    counts, totals = columns[_COUNT].tolist(), columns[_TOTAL].tolist()
    last = len(totals) - 1 - totals[::-1].index(max(totals))
    settle({_COUNT: counts[last], _TOTAL: totals[last]}, "", log)


def read(line: str, log: TextLog) -> bool:
    if _DESCRIBED.match(line):
        # "Map: 40%|" and "Loading checkpoint shards: 100%|" count something else than steps.
        return False
    bars = _BAR.findall(line)
    for count, total in bars:
        settle({_COUNT: float(count), _TOTAL: float(total)}, "", log)
    return bool(bars)


LINE = Line("progress-bar", "  2%|2 | 20/8720 [01:38<11:01:39,  4.56s/it]", ("/s", "s/it"), 1, read, marker=True,
            parse=parse, settle=settle, settle_run=settle_run)  # fmt: skip
