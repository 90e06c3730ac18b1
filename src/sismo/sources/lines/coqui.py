"""Coqui TTS: a header ``--> STEP: 24/100 -- GLOBAL_STEP: 25`` and then ``| > loss: 3.1  (3.2)``, one measurement a line."""

from __future__ import annotations

import re

from sismo.sources.line import Line, TextLog
from sismo.sources.numbers import NUMBER, number

_HEADER = re.compile(r"-->.*\bGLOBAL_STEP: (\d+)")
_METRIC = re.compile(rf"^\s*\| > ([\w./ -]+?):\s*({NUMBER})")


def read(line: str, log: TextLog) -> bool:
    found = _HEADER.search(line)
    if found:
        log.add({"global_step": float(found[1])}, open_row=True)
        return True
    found = _METRIC.match(line)
    value = number(found[2]) if found else None
    return found is not None and value is not None and log.attach({found[1]: value})


LINE = Line("coqui", "   --> STEP: 24/100 -- GLOBAL_STEP: 25 then      | > loss: 3.1  (3.2)", ("global_step:", "| > "), 20, read)
