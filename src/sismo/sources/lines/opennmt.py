"""OpenNMT-py: ``Step 50/100000; acc:  5.12; ppl: 2000.1; xent: 7.60; lr: 0.00010; 10000/9000 tok/s``, once ``Epoch  2, 50/725; acc:``."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sismo.sources.axis import EPOCH_LENGTH_KEY
from sismo.sources.cells import Cell, cells_by, group_cell
from sismo.sources.line import Line
from sismo.sources.numbers import NUMBER

_STEP = re.compile(r"\bStep\s+(\d+)/\s*(\d+);")
_BATCH = re.compile(r"\bEpoch\s+(\d+),\s+(\d+)/\s*(\d+);\s+acc:")
_PAIR = re.compile(rf"\b(acc|ppl|xent|lr):\s*({NUMBER})")
_NAMES = {"xent": "xent loss"}


def cells(line: str) -> Sequence[Cell]:
    found, names = _STEP.search(line), ("step", "total_steps")
    if found is None:
        found, names = _BATCH.search(line), ("epoch", "batch", EPOCH_LENGTH_KEY)
    if found is None or "ppl:" not in line:
        return ()
    row = [cell._replace(key=_NAMES.get(cell.key, cell.key)) for cell in cells_by(_PAIR, line, found.end(1))]
    return [*(cell for group, name in enumerate(names, 1) for cell in group_cell(name, found, group)), *row]


LINE = Line("opennmt", "Step 50/100000; acc:   5.12; ppl: 2000.10; xent: 7.60; lr: 0.00010; 10000/9000 tok/s", ("ppl:",), 20, cells=cells)
