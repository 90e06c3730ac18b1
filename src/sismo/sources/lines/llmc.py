"""llm.c's main.log: ``s:0 trl:11.0 lr:0.000001 norm:15.3`` and ``s:0 tel:11.0``."""

from __future__ import annotations

import re

from sismo.sources.line import Line, TextLog
from sismo.sources.numbers import NUMBER, number

_LINE = re.compile(r"^\s*s:(\d+)\s+(.*)")
_PAIR = re.compile(rf"(\w+):({NUMBER})")


def read(line: str, log: TextLog) -> bool:
    found = _LINE.match(line)
    if not found:
        return False
    row = {key: cell for key, value in _PAIR.findall(found[2]) if (cell := number(value)) is not None}
    if row:
        log.add({"s": float(found[1]), **row})
    return bool(row)


LINE = Line("llmc", "s:0 trl:11.0 lr:0.000001 norm:15.3", ("s:",), 20, read)
