"""darknet: ``100: 18.2, 18.1 avg, 0.001 rate, 3.1 seconds, 6400 images``, and region lines whose IOU is ``-nan``."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sismo.sources.cells import Cell, group_cell
from sismo.sources.line import Line, TextLog
from sismo.sources.numbers import NUMBER

_STEP = re.compile(rf"^\s*(\d+):\s*({NUMBER}),\s*({NUMBER}) avg(?: loss)?,\s*({NUMBER}) rate")
_ROUNDED = re.compile(r"-?0*\.?0*")
"""A rate that is printed as 0: a burn-in begins at 1e-12 of it, and six decimals are all that is printed."""
_REGION = re.compile(r"\b(?:Avg )?IOU:\s*-?nan", re.IGNORECASE)


def cells(line: str) -> Sequence[Cell]:
    found = _STEP.match(line)
    names = ("iter", "loss", "avg loss ema", "rate")
    if found is None:
        return ()
    known = names[:-1] if _ROUNDED.fullmatch(found[len(names)]) else names
    return [cell for group, name in enumerate(known, 1) for cell in group_cell(name, found, group)]


def read(line: str, log: TextLog) -> bool:
    if _REGION.search(line):
        log.mark("warning", tag="nonfinite-iou", line=line.strip()[:200])
        return True
    return False


LINE = Line("darknet", "100: 18.2, 18.1 avg, 0.001000 rate, 3.1 seconds, 6400 images", (" avg", "iou:"), 20, read,
            cells=cells)  # fmt: skip
