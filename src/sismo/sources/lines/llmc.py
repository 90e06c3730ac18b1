"""llm.c's main.log: ``s:0 trl:11.0 lr:0.000001 norm:15.3`` and ``s:0 tel:11.0``."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sismo.sources.cells import Cell, cells_by, group_cell
from sismo.sources.line import Line
from sismo.sources.numbers import NUMBER

_STEP = re.compile(r"^\s*s:(\d+)\s+")
_PAIR = re.compile(rf"(\w+):({NUMBER})")


def cells(line: str) -> Sequence[Cell]:
    found = _STEP.match(line)
    row = list(cells_by(_PAIR, line, found.end())) if found else []
    return [*group_cell("s", found, 1), *row] if found and row else ()


LINE = Line("llmc", "s:0 trl:11.0 lr:0.000001 norm:15.3", ("s:",), 20, cells=cells)
