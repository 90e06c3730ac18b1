"""The logger of DETR, DeiT and MAE prints medians of its last 20 steps: ``Epoch: [0]  [ 10/1250]  eta: 0:30:00  loss: 4.1 (4.6)``."""

from __future__ import annotations

import re

from sismo.records.types import Note
from sismo.sources.line import Line, TextLog

_MEDIAN = re.compile(r"\]\s+eta: .*\bloss: \S+ \(")


def read(line: str, log: TextLog) -> bool:
    if "median" in log.memo or not _MEDIAN.search(line):
        return False
    log.memo["median"] = True
    note = Note("smoothed-loss", "{key} is the median of the last 20 steps, not the loss of each step", {"key": "loss"})
    log.rows.notes.append(note)
    return True


LINE = Line("median", "Epoch: [0]  [  10/1250]  eta: 0:30:00  loss: 4.1234 (4.6012)", ("eta: ",), 8, read, marker=True)
