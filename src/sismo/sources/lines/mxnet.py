"""MXNet's Module: ``Epoch[0] Batch [20]  Speed: 1000.1 samples/sec  cross-entropy=2.3`` and ``Epoch[0] Validation-cross-entropy=1.2``."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sismo.sources.cells import Cell, cells_by, group_cell
from sismo.sources.line import Line
from sismo.sources.numbers import NUMBER

_BATCH = re.compile(r"\bEpoch\[(\d+)\] Batch \[(?:\d+-)?(\d+)\]\s+Speed:\s*\S+ samples/sec\s+(.*)")
_EPOCH = re.compile(rf"\bEpoch\[(\d+)\] (Train|Validation)-([\w-]+)=({NUMBER})")
_PAIR = re.compile(rf"([\w-]+)=({NUMBER})")
_LOSSES = frozenset({"cross-entropy", "nll-loss", "loss", "mse", "rmse", "mae", "multibox-loss"})


def cells(line: str) -> Sequence[Cell]:
    found = _BATCH.search(line)
    if found:
        row = [cell._replace(key=_name(cell.key)) for cell in cells_by(_PAIR, line, found.start(3))]
        return [*group_cell("epoch", found, 1), *group_cell("batch", found, 2), *row]
    found = _EPOCH.search(line)
    if found is None:
        return ()
    side = "val" if found[2] == "Validation" else "epoch"
    return [*group_cell("epoch", found, 1), *group_cell(f"{side}/{_name(found[3])}", found, 4)]


def _name(metric: str) -> str:
    return "loss" if metric in _LOSSES else metric


LINE = Line("mxnet", "Epoch[0] Batch [20]\tSpeed: 1000.10 samples/sec\taccuracy=0.1\tcross-entropy=2.302585", ("epoch[",), 20, cells=cells)
