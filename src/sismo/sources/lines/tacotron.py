"""NVIDIA's Tacotron 2 and its children: ``Train loss 100 0.512 Grad Norm 1.2 2.14s/it`` and ``Validation loss 1000: 0.47``."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sismo.sources.cells import Cell, group_cell
from sismo.sources.line import Line
from sismo.sources.numbers import NUMBER

_TRAIN = re.compile(rf"^\s*Train loss (\d+) ({NUMBER})(?: Grad Norm ({NUMBER}))?", re.IGNORECASE)
_VAL = re.compile(rf"^\s*Validation loss (\d+):\s+({NUMBER})\s*$", re.IGNORECASE)


def cells(line: str) -> Sequence[Cell]:
    found = _TRAIN.match(line)
    names = ("step", "train loss", "grad norm")
    if found is None:
        found, names = _VAL.match(line), ("step", "val loss")
    return [cell for group, name in enumerate(names, 1) for cell in group_cell(name, found, group)] if found else ()


LINE = Line("tacotron", "Train loss 100 0.512345 Grad Norm 1.234567 2.14s/it", ("train loss ", "validation loss "), 20, cells=cells)
