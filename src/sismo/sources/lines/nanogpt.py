"""nanoGPT: ``iter 10: loss 3.2, time 5ms, mfu 3%`` for steps and ``step 0: train loss 10.9, val loss 10.9`` for evaluations."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sismo.sources.cells import Cell, group_cell
from sismo.sources.line import Line
from sismo.sources.numbers import NUMBER

_STEP = re.compile(rf"^\s*iter (\d+): loss ({NUMBER}), time ({NUMBER})ms(?:, mfu ({NUMBER})%)?")
_EVAL = re.compile(rf"^\s*step (\d+): train loss ({NUMBER}), val loss ({NUMBER})")


def cells(line: str) -> Sequence[Cell]:
    found = _STEP.match(line)
    names = ("iter", "loss", "time", "mfu")
    if found is None:
        found, names = _EVAL.match(line), ("iter", "train loss", "val loss")
    return [cell for group, name in enumerate(names, 1) for cell in group_cell(name, found, group)] if found else ()


LINE = Line("nanogpt", "iter 10: loss 3.2, time 5.12ms, mfu 3.10%", ("iter ", "step "), 20, cells=cells)
