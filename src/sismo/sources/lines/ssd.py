"""SSD in PyTorch and its children, RFBNet, FaceBoxes, RetinaFace: fields between double bars, the terms of the loss by their letters.

``Epoch:1 || epochiter: 10/1034|| Totel iter 10 || L: 2.4361 C: 3.9712||Batch time: 0.3 sec. ||LR: 0.00100000``
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sismo.sources.axis import EPOCH_LENGTH_KEY
from sismo.sources.cells import Cell, group_cell
from sismo.sources.line import Line
from sismo.sources.numbers import NUMBER

_TERM = re.compile(rf"\b(L|C|Loc|Cla|Conf|Landm|Landmark|Cls|Obj)\s*:\s*({NUMBER})(?![\w.])")
_COUNTERS = (
    (re.compile(r"\bEpoch\s*:?\s*(\d+)(?:/\d+)?", re.IGNORECASE), ("epoch",)),
    (re.compile(r"\bepoch\s*iter\s*:?\s*(\d+)/(\d+)", re.IGNORECASE), ("batch", EPOCH_LENGTH_KEY)),
    (re.compile(r"(?:^|\|\|)\s*(?:tot[ea]l\s*)?iter\s*:?\s*(\d+)(?:/(\d+))?", re.IGNORECASE), ("iter", "total_steps")),
    (re.compile(rf"\bLR\s*:\s*({NUMBER})(?![\w.])", re.IGNORECASE), ("lr",)),
)
_NAMES = {"l": "loc", "c": "conf", "landmark": "landm"}


def cells(line: str) -> Sequence[Cell]:
    terms = [Cell(f"{_NAMES.get(name := found[1].lower(), name)}_loss", *found.span(2), found.span(1)) for found in _TERM.finditer(line)]
    if "||" not in line or len(terms) < 2:
        return ()
    found = [(pattern.search(line), names) for pattern, names in _COUNTERS]
    return [
        cell for match, names in found if match for group, name in enumerate(names, 1) for cell in group_cell(name, match, group)
    ] + terms


LINE = Line("ssd", "Epoch:1 || Epochiter: 1/403 || Iter: 1/100750 || Loc: 4.5 Cla: 11.2 Landm: 20.1 || LR: 0.001", ("||",), 19, cells=cells)
