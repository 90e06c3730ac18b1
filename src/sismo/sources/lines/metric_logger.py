"""timm, Swin, torchvision, DETR: ``Train: 0 [  50/1251 (  4%)]  Loss: 6.9 (6.9)``, ``Epoch: [0]  [ 10/1250]  eta: 0:30  loss: 4.1 (4.6)``.

Evaluations count batches of their own, ``Test: [  48/48]  Loss: 1.1 (1.2)``; the last line of one has its mean in parentheses.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sismo.sources.axis import EPOCH_LENGTH_KEY
from sismo.sources.cells import Cell, Parsed, cells_by, group_cell
from sismo.sources.line import Line, TextLog
from sismo.sources.numbers import NUMBER
from sismo.sources.pairs import find_cells

_TRAIN = re.compile(r"\b(?:Train|Epoch):\s*\[?(\d+)(?:/\d+)?\]?\s*\[\s*(\d+)/(\d+)[^\]]*\](.*)")
_TEST = re.compile(r"\b(?:Test|Val|Valid|Validation|Eval):\s*\[\s*(\d+)/(\d+)[^\]]*\](.*)")
_MEAN = re.compile(rf"([A-Za-z][\w@./-]*):?\s+{NUMBER}\s*\(\s*({NUMBER})\s*\)")


def cells(line: str) -> Sequence[Cell]:
    found = _TRAIN.search(line)
    if found is None:
        return ()
    place = [cell for group, name in enumerate(("epoch", "batch", EPOCH_LENGTH_KEY), 1) for cell in group_cell(name, found, group)]
    return place + [cell for cell, _ in find_cells(line, found.start(4))]


def parse(line: str) -> Parsed | None:
    found = _TEST.search(line)
    return Parsed(list(cells_by(_MEAN, line, found.start(3), prefix="val/"))) if found else None


def settle(row: dict[str, float], _: str, log: TextLog) -> None:
    if log.memo.get("metric-logger") == log.rows.n_rows - 1:
        # The evaluation goes on: of its running means the last one stays.
        for key, value in row.items():
            log.rows.put(log.rows.n_rows - 1, key, value)
    elif row:
        log.add(row)
        log.memo["metric-logger"] = log.rows.n_rows - 1


def read(line: str, log: TextLog) -> bool:
    # "Averaged stats: …" repeats the means of what was just printed.
    return line.lstrip().startswith("Averaged stats:")


LINE = Line(
    "metric-logger",
    "Train: 0 [  50/1251 (  4%)]  Loss: 6.93 (6.95)  Time: 0.4s, 300.1/s  LR: 1.0e-05",
    ("train:", "epoch:", "test:", "val:", "valid:", "validation:", "eval:", "averaged stats:"),
    18,
    read,
    cells=cells,
    parse=parse,
    settle=settle,
)
