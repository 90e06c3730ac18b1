"""PaddleClas: ``[Train][Epoch 1/120][Iter: 10/626]lr: 0.1, CELoss: 6.9, loss: 6.9`` and ``[Eval][Epoch 1][Avg]CELoss: 5.1, loss: 5.1``."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sismo.sources.axis import EPOCH_LENGTH_KEY
from sismo.sources.cells import Cell, group_cell
from sismo.sources.line import Line, TextLog
from sismo.sources.pairs import find_cells

_PLACE = re.compile(r"\[(Train|Eval)\]\[Epoch (\d+)(?:/\d+)?\]\[(?:Iter: (\d+)/(\d+)|Avg)\]")


def cells(line: str) -> Sequence[Cell]:
    found = _PLACE.search(line)
    if found is None or (found[1] == "Train") != (found[3] is not None):
        return ()
    place = [cell for group, name in ((2, "epoch"), (3, "iter"), (4, EPOCH_LENGTH_KEY)) for cell in group_cell(name, found, group)]
    prefix = "" if found[1] == "Train" else "val/"
    return place + [cell._replace(key=prefix + cell.key) for cell, _ in find_cells(line, found.end())]


def read(line: str, log: TextLog) -> bool:
    # The mean of the rows above, or a part of an evaluation.
    return _PLACE.search(line) is not None


LINE = Line("paddle", "[Train][Epoch 1/120][Iter: 10/626]lr: 0.1, top1: 0.01, CELoss: 6.9, loss: 6.9", ("[epoch ",), 20, read, cells=cells)
