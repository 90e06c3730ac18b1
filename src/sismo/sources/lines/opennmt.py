"""OpenNMT-py: ``Step 50/100000; acc:  5.12; ppl: 2000.1; xent: 7.60; lr: 0.00010; 10000/9000 tok/s``."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sismo.sources.cells import Cell, cells_by, group_cell
from sismo.sources.line import Line
from sismo.sources.numbers import NUMBER

_STEP = re.compile(r"\bStep\s+(\d+)/\s*(\d+);")
_PAIR = re.compile(rf"\b(acc|ppl|xent|lr):\s*({NUMBER})")
_NAMES = {"xent": "xent loss"}


def cells(line: str) -> Sequence[Cell]:
    found = _STEP.search(line)
    if found is None or "xent:" not in line:
        return ()
    row = [cell._replace(key=_NAMES.get(cell.key, cell.key)) for cell in cells_by(_PAIR, line, found.end())]
    return [*group_cell("step", found, 1), *group_cell("total_steps", found, 2), *row]


LINE = Line("opennmt", "Step 50/100000; acc:   5.12; ppl: 2000.10; xent: 7.60; lr: 0.00010; 10000/9000 tok/s", ("xent:",), 20, cells=cells)
