"""Megatron-LM: ``iteration 10/ 1000 | lm loss: 1.244E+01 | loss scale: 4096.0 | grad norm: 1.2 |`` and its validation lines.

Its first versions, and DeepSpeed's examples, have no colon: ``| learning rate 1.500E-04 | lm loss 9.012E+00 |``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sismo.sources.cells import Cell, cells_by, fields, group_cell
from sismo.sources.line import Line, TextLog
from sismo.sources.numbers import NUMBER

_TRAIN = re.compile(r"\biteration\s+(\d+)\s*/\s*(\d+)\s*\|(.*)")
_SPACED = re.compile(rf"\|\s*([a-z][a-z ]*?[a-z])\s+({NUMBER})\s*(?=\|)", re.IGNORECASE)
_VAL = re.compile(r"\b(validation|test) loss at (?:iteration\s+)?(\d+)[^|]*\|(.*)")


def cells(line: str) -> Sequence[Cell]:
    found = _TRAIN.search(line)
    if found:
        counts = (*group_cell("iteration", found, 1), *group_cell("total_steps", found, 2))
        return [*counts, *fields(line, found.start(3), "|", ":"), *cells_by(_SPACED, line, found.end(2))]
    found = _VAL.search(line)
    values = [*fields(line, found.start(3), "|", ":", "val/")] if found else []
    return [*group_cell("iteration", found, 2), *values] if found and values else ()


def read(line: str, log: TextLog) -> bool:
    # A heading of a validation without any number in it.
    return _VAL.search(line) is not None


LINE = Line("megatron", "iteration 10/ 1000 | lm loss: 1.244E+01 | loss scale: 4096.0 |", ("iteration", "loss at "), 20, read,
            cells=cells)  # fmt: skip
