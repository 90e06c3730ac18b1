"""Hugging Face and others: ``{'loss': 2.31, 'learning_rate': 5e-05, 'epoch': 0.1}``, alone, glued behind a bar, or several on a line."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set

from sismo.sources.cells import Cell
from sismo.sources.keys import is_loss
from sismo.sources.line import Line, TextLog
from sismo.sources.literals import pair_cells, pairs

_BRACES = re.compile(r"\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}")
_TRAINER_KEYS = frozenset({"train_runtime", "eval_runtime", "learning_rate", "grad_norm", "reward"})


def cells(line: str) -> Sequence[Cell]:
    """The one dictionary on a line."""
    found = _BRACES.findall(line) if line.count("{") == 1 else []
    if len(found) != 1:
        return ()
    start = line.index(found[0])
    row = list(pair_cells(line, start, start + len(found[0])))
    return row if _is_row({cell.key for cell in row}) else ()


def read(line: str, log: TextLog) -> bool:
    taken = False
    for text in _BRACES.findall(line):
        row = pairs(text)
        if _is_row(row.keys()):
            log.add(log.with_bar(row))
            taken = True
    return taken


def _is_row(keys: Set[str]) -> bool:
    return any(is_loss(key) for key in keys) or ("epoch" in keys and not _TRAINER_KEYS.isdisjoint(keys))


LINE = Line("hf-dict", "{'loss': 2.31, 'grad_norm': 1.2, 'learning_rate': 5e-05, 'epoch': 0.1}", ("':", '":'), 10, read,
            cells=cells, bar=True)  # fmt: skip
