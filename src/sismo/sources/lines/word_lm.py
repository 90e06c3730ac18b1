"""PyTorch's word_language_model: ``| epoch   1 |   200/ 2983 batches | lr 20.00 | loss  5.1 | ppl  170.2``."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sismo.sources.axis import EPOCH_LENGTH_KEY
from sismo.sources.cells import Cell, group_cell
from sismo.sources.line import Line, TextLog
from sismo.sources.pairs import find_cells

_BATCHES = re.compile(r"\bepoch\s+(\d+)\s*\|\s*(\d+)\s*/\s*(\d+)\s+batches\s*\|(.*)", re.IGNORECASE)
_END = re.compile(r"\bend of epoch\s+(\d+)\s*\|(.*)", re.IGNORECASE)


def cells(line: str) -> Sequence[Cell]:
    found = _BATCHES.search(line)
    names = ("epoch", "batch", EPOCH_LENGTH_KEY)
    if found is None:
        found, names = _END.search(line), ("epoch",)
    values = [cell for cell, _ in find_cells(line, found.start(len(names) + 1))] if found else []
    return [*(cell for group, name in enumerate(names, 1) for cell in group_cell(name, found, group)), *values] if found and values else ()


def read(line: str, log: TextLog) -> bool:
    # The closing "End of training | test loss" is a result of the run, not a point of its curve.
    return "end of training" in line.lower()


LINE = Line(
    "word-lm", "| epoch   1 |   200/ 2983 batches | lr 20.00 | ms/batch 11.61 | loss  5.10 | ppl   164.02", ("batches", "end of "), 20,
    read, cells=cells)  # fmt: skip
