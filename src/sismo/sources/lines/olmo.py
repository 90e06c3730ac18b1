"""OLMo: a header ``[step=1/15000,epoch=0]`` and then one ``    key=value`` a line."""

from __future__ import annotations

import re

from sismo.sources.line import Line, TextLog
from sismo.sources.numbers import number

_HEADER = re.compile(r"\[step=(\d+)(?:/(\d+))?(?:,epoch=(\d+))?[^\]]*\]")
_METRIC = re.compile(r"^\s+([A-Za-z][\w/ ().-]{0,80})=(\S+)\s*$")


def read(line: str, log: TextLog) -> bool:
    found = _HEADER.search(line)
    if found:
        row = {"step": float(found[1])}
        if found[2]:
            row["total_steps"] = float(found[2])
        if found[3]:
            row["epoch"] = float(found[3])
        log.add(row, open_row=True)
        return True
    found = _METRIC.match(line)
    value = number(found[2]) if found else None
    return found is not None and value is not None and log.attach({found[1].strip(): value})


LINE = Line("olmo", "[step=1/15000,epoch=0] then     train/CrossEntropyLoss=2.998", ("[step=", "="), 25, read)
