"""Marian: ``Ep. 1 : Up. 1000 : Sen. 64,000 : Cost 8.12 : L.r. 1.0e-04`` and ``[valid] Ep. 1 : Up. 5000 : ce-mean-words : 2.1``."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sismo.sources.cells import Cell, cells_by, group_cell
from sismo.sources.line import Line
from sismo.sources.numbers import NUMBER

_UPDATE = re.compile(r"\bEp\. \d+ : Up\. ([\d,]+) : ")
_FIELD = re.compile(rf"\b(Cost|L\.r\.|gNorm) ({NUMBER})")
_VALID = re.compile(rf"(\S+) : ({NUMBER})")
_LOSSES = frozenset({"cross-entropy", "ce-mean", "ce-mean-words"})
_NAMES = {"Cost": "cost", "L.r.": "lr", "gNorm": "grad_norm"}


def cells(line: str) -> Sequence[Cell]:
    found = _UPDATE.search(line)
    if found is None:
        return ()
    step = group_cell("update", found, 1)
    if "[valid]" not in line:
        return [*step, *(cell._replace(key=_NAMES[cell.key]) for cell in cells_by(_FIELD, line, found.end()))]
    measured = _VALID.match(line, found.end())
    return [*step, *group_cell("val/loss" if measured[1] in _LOSSES else f"val/{measured[1]}", measured, 2)] if measured else ()


LINE = Line("marian", "Ep. 1 : Up. 1000 : Sen. 64,000 : Cost 8.12345678 : Time 100.10s : 12345.00 words/s : L.r. 1.0000e-04",
            (" : up. ",), 20, cells=cells)  # fmt: skip
