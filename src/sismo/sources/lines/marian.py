"""Marian: ``Ep. 1 : Up. 1000 : Sen. 64,000 : Cost 8.12 : L.r. 1.0e-04`` and ``[valid] Ep. 1 : Up. 5000 : ce-mean-words : 2.1``."""

from __future__ import annotations

import re

from sismo.sources.line import Line, TextLog
from sismo.sources.numbers import NUMBER, number

_UPDATE = re.compile(r"\bEp\. (\d+) : Up\. ([\d,]+) : (.*)")
_FIELDS = (("cost", re.compile(rf"\bCost ({NUMBER})")), ("lr", re.compile(rf"\bL\.r\. ({NUMBER})")),
           ("grad_norm", re.compile(rf"\bgNorm ({NUMBER})")))  # fmt: skip
_VALID = re.compile(rf"^(\S+) : ({NUMBER})")
_LOSSES = frozenset({"cross-entropy", "ce-mean", "ce-mean-words"})


def read(line: str, log: TextLog) -> bool:
    found = _UPDATE.search(line)
    step = number(found[2]) if found else None
    if found is None or step is None:
        return False
    row = {"update": step}
    if "[valid]" in line:
        measured = _VALID.match(found[3])
        if measured and (value := number(measured[2])) is not None:
            row["val/loss" if measured[1] in _LOSSES else f"val/{measured[1]}"] = value
    else:
        for key, pattern in _FIELDS:
            if (at := pattern.search(found[3])) and (value := number(at[1])) is not None:
                row[key] = value
    log.add(row)
    return True


LINE = Line("marian", "Ep. 1 : Up. 1000 : Sen. 64,000 : Cost 8.12345678 : Time 100.10s : 12345.00 words/s : L.r. 1.0000e-04",
            (" : up. ",), 20, read)  # fmt: skip
