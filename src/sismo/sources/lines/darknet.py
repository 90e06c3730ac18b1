"""darknet: ``100: 18.2, 18.1 avg, 0.001 rate, 3.1 seconds, 6400 images``, and region lines whose IOU is ``-nan``."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sismo.sources.cells import Cell, group_cell
from sismo.sources.line import Line, TextLog
from sismo.sources.numbers import NUMBER

_STEP = re.compile(rf"^\s*(\d+):\s*({NUMBER}),\s*({NUMBER}) avg(?: loss)?,\s*({NUMBER}) rate")
_REGION = re.compile(r"\b(?:Avg )?IOU:\s*-?nan", re.IGNORECASE)


def cells(line: str) -> Sequence[Cell]:
    found = _STEP.match(line)
    names = ("iter", "loss", "avg loss ema", "rate")
    return [cell for group, name in enumerate(names, 1) for cell in group_cell(name, found, group)] if found else ()


def read(line: str, log: TextLog) -> bool:
    if _REGION.search(line):
        log.mark("warning", tag="nonfinite-iou", line=line.strip()[:200])
        return True
    return False


LINE = Line("darknet", "100: 18.2, 18.1 avg, 0.001000 rate, 3.1 seconds, 6400 images", (" avg", "iou:"), 20, read,
            cells=cells)  # fmt: skip
