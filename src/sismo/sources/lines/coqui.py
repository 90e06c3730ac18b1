"""Coqui TTS: a header ``--> STEP: 24/100 -- GLOBAL_STEP: 25`` and then ``| > loss: 3.1  (3.2)``, one measurement a line."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sismo.sources.cells import Cell, cells_by, group_cell
from sismo.sources.line import Line
from sismo.sources.numbers import NUMBER

_HEADER = re.compile(r"-->.*\bGLOBAL_STEP: (\d+)")
_METRIC = re.compile(rf"^\s*\| > ([\w./ -]+?):\s*({NUMBER})")


def cells(line: str) -> Sequence[Cell]:
    found = _HEADER.search(line)
    return list(group_cell("global_step", found, 1)) if found else ()


def more(line: str) -> Sequence[Cell]:
    return list(cells_by(_METRIC, line, 0))


LINE = Line("coqui", "   --> STEP: 24/100 -- GLOBAL_STEP: 25 then      | > loss: 3.1  (3.2)", ("global_step:", "| > "), 20,
            cells=cells, more=more, stays_open=True)  # fmt: skip
