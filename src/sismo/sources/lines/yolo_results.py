"""``results.txt`` of early YOLOv5: ``0/299  0.489G  0.118  0.061  0.032  0.211  10  640  0.01 ..``, a row an epoch, with no heading."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sismo.sources.cells import Cell, group_cell
from sismo.sources.line import Line
from sismo.sources.numbers import NUMBER

_TERMS = ("box", "obj", "cls")
_METRICS = ("precision", "recall", "mAP50", "mAP50-95")
_NAMES = (
    "epoch",
    *(f"train/{term}_loss" for term in _TERMS),
    "train/total_loss",
    *_METRICS,
    *(f"val/{term}_loss" for term in _TERMS),
)
_ROW = re.compile(
    rf"^\s*(\d+)/\d+\s+[\d.]+G\s+({NUMBER})\s+({NUMBER})\s+({NUMBER})\s+({NUMBER})\s+\d+\s+\d+"
    + rf"\s+({NUMBER})" * (len(_METRICS) + len(_TERMS))
    + r"\s*$"
)


def cells(line: str) -> Sequence[Cell]:
    found = _ROW.match(line)
    return [cell for group, name in enumerate(_NAMES, 1) for cell in group_cell(name, found, group)] if found else ()


LINE = Line("yolo-results", "  0/299  0.489G  0.118  0.061  0.032  0.211  10  640  0.01  0.02  0.01  0.002  0.11  0.05  0.03", ("g ",), 40,
            cells=cells)  # fmt: skip
