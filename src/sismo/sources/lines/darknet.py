"""darknet: ``100: 18.2, 18.1 avg, 0.001 rate, 3.1 seconds, 6400 images``, and region lines whose IOU is ``-nan``."""

from __future__ import annotations

import re

from sismo.sources.line import Line, TextLog
from sismo.sources.numbers import NUMBER, number

_STEP = re.compile(rf"^\s*(\d+):\s*({NUMBER}),\s*({NUMBER}) avg(?: loss)?,\s*({NUMBER}) rate")
_REGION = re.compile(r"\b(?:Avg )?IOU:\s*-?nan", re.IGNORECASE)


def read(line: str, log: TextLog) -> bool:
    found = _STEP.match(line)
    if found:
        row = {"iter": float(found[1])}
        for key, value in (("loss", found[2]), ("avg loss ema", found[3]), ("rate", found[4])):
            if (cell := number(value)) is not None:
                row[key] = cell
        log.add(row)
        return True
    if _REGION.search(line):
        log.mark("warning", tag="nonfinite-iou", line=line.strip()[:200])
        return True
    return False


LINE = Line("darknet", "100: 18.2, 18.1 avg, 0.001000 rate, 3.1 seconds, 6400 images", (" avg", "iou:"), 20, read)
