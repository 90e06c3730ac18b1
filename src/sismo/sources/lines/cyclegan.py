"""CycleGAN, pix2pix and their children: ``(epoch: 1, iters: 100, time: 0.3, data: 0.1) D_A: 0.06 G_A: 0.62 cycle_A: 0.5``, losses all."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sismo.sources.cells import Cell, cells_by, group_cell
from sismo.sources.line import Line
from sismo.sources.numbers import NUMBER

_LINE = re.compile(r"^\s*\(epoch: (\d+), iters: (\d+), time: [^)]*\)\s*")
_PAIR = re.compile(rf"(\w+): ({NUMBER})")


def cells(line: str) -> Sequence[Cell]:
    found = _LINE.match(line)
    if found is None:
        return ()
    losses = [cell._replace(key=f"loss_{cell.key}") for cell in cells_by(_PAIR, line, found.end())]
    return [*group_cell("epoch", found, 1), *group_cell("batch", found, 2), *losses]


LINE = Line(
    "cyclegan", "(epoch: 1, iters: 100, time: 0.311, data: 0.002) D_A: 0.064 G_A: 0.623 cycle_A: 0.517", ("(epoch:",), 16, cells=cells
)
