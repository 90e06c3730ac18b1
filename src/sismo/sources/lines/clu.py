"""CLU, the writer of Flax, big_vision and Scenic: ``logging_writer.py:35] [400] train_accuracy=0.37, train_loss=3.2``."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sismo.sources.cells import Cell, group_cell
from sismo.sources.keys import is_loss
from sismo.sources.line import Line
from sismo.sources.pairs import find_cells

_STEP = re.compile(r"\blogging_writer\.py:\d+\] \[(\d+)\] ")


def cells(line: str) -> Sequence[Cell]:
    found = _STEP.search(line)
    row = [cell for cell, _ in find_cells(line, found.end())] if found else []
    return [*group_cell("step", found, 1), *row] if found and any(is_loss(cell.key) for cell in row) else ()


LINE = Line("clu", "logging_writer.py:35] [400] train_accuracy=0.37, train_loss=3.2", ("logging_writer.py:",), 20, cells=cells)
