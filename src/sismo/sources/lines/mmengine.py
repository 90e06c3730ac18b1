"""OpenMMLab: ``Epoch(train) [1][2/6]  lr: 4e-08  loss: 0.42``, ``Iter(train) [50/20000]`` and mmcv's older ``Epoch [1][50/7330]``."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sismo.sources.axis import EPOCH_LENGTH_KEY
from sismo.sources.cells import Cell, Parsed, group_cell
from sismo.sources.line import Line, TextLog
from sismo.sources.pairs import find_cells

_EPOCH = re.compile(r"\bEpoch\s*(?:\((\w+)\))?\s*\[\s*(\d+)\]\s*\[\s*(\d+)/\s*(\d+)\]\s*(.*)")
_ITER = re.compile(r"\bIter\s*(?:\((\w+)\))?\s*\[\s*(\d+)/\s*(\d+)\]\s*(.*)")

_COUNT, _TOTAL = "@count", "@total"


def cells(line: str) -> Sequence[Cell]:
    """A line of training; those of an evaluation count only at its end."""
    found = _EPOCH.search(line)
    names = ("epoch", "iter", EPOCH_LENGTH_KEY)
    if found is None:
        found, names = _ITER.search(line), ("iter", "total_steps")
    if found is None or found[1] not in (None, "train"):
        return ()
    place = [cell for group, name in enumerate(names, 2) for cell in group_cell(name, found, group)]
    return place + _values(line, found.start(len(names) + 2), "")


def parse(line: str) -> Parsed | None:
    """A line of an evaluation, or a bare one."""
    found = _EPOCH.search(line)
    names = ("epoch", _COUNT, _TOTAL)
    if found is None:
        found, names = _ITER.search(line), (_COUNT, _TOTAL)
    if found is None:
        return None
    place = [cell for group, name in enumerate(names, 2) for cell in group_cell(name, found, group)]
    return Parsed(place + _values(line, found.start(len(names) + 2), f"{found[1]}/"))


def settle(row: dict[str, float], _: str, log: TextLog) -> None:
    count, total = row.pop(_COUNT), row.pop(_TOTAL)
    if count == total and row.keys() != {"epoch"}:
        log.add(row)


def _values(line: str, start: int, prefix: str) -> list[Cell]:
    named = (cell for cell, _ in find_cells(line, start) if cell.key not in ("eta", "epoch", "iter"))
    return [cell._replace(key=prefix + cell.key) for cell in named]


LINE = Line("mmengine", "Epoch(train)   [1][2/6]  lr: 2.1e-04  eta: 4:30:58  time: 9.04  loss: 0.422", ("epoch", "iter"), 20,
            cells=cells, parse=parse, settle=settle)  # fmt: skip
