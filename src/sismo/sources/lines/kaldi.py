"""Kaldi's nnet3: ``Average objective function for 'output' for minibatches 0-99 is -0.35 over 64000 frames.``

The objective is maximised; its negative is the loss.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sismo.sources.cells import Cell, group_cell
from sismo.sources.line import Line
from sismo.sources.numbers import NUMBER

_AVERAGE = re.compile(rf"\bAverage objective function for '([\w.-]+)' for minibatches \d+-(\d+) is ({NUMBER})", re.IGNORECASE)


def cells(line: str) -> Sequence[Cell]:
    found = _AVERAGE.search(line)
    if found is None:
        return ()
    key = "objective loss" if found[1] == "output" else f"{found[1]} loss"
    return [*group_cell("step", found, 2), *(cell._replace(times=-1.0) for cell in group_cell(key, found, 3))]


LINE = Line("kaldi", "Average objective function for 'output' for minibatches 0-99 is -0.35 over 64000 frames.",
            ("objective function for",), 20, cells=cells)  # fmt: skip
