"""NVIDIA's Tacotron 2 and its children: ``Train loss 100 0.512 Grad Norm 1.2 2.14s/it`` and ``Validation loss 1000: 0.47``."""

from __future__ import annotations

import re

from sismo.sources.line import Line, TextLog
from sismo.sources.numbers import NUMBER, number

_TRAIN = re.compile(rf"^\s*Train loss (\d+) ({NUMBER})(?: Grad Norm ({NUMBER}))?", re.IGNORECASE)
_VAL = re.compile(rf"^\s*Validation loss (\d+):\s+({NUMBER})\s*$", re.IGNORECASE)


def read(line: str, log: TextLog) -> bool:
    train = _TRAIN.match(line)
    found = train or _VAL.match(line)
    if found is None:
        return False
    row = {"step": float(found[1])}
    fields = (("train loss", found[2]), ("grad norm", train[3])) if train else (("val loss", found[2]),)
    for key, written in fields:
        if written is not None and (value := number(written)) is not None:
            row[key] = value
    log.add(row)
    return True


LINE = Line("tacotron", "Train loss 100 0.512345 Grad Norm 1.234567 2.14s/it", ("train loss ", "validation loss "), 20, read)
