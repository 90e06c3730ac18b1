"""nanoGPT: ``iter 10: loss 3.2, time 5ms, mfu 3%`` for steps and ``step 0: train loss 10.9, val loss 10.9`` for evaluations."""

from __future__ import annotations

import re

from sismo.sources.line import Line, TextLog
from sismo.sources.numbers import NUMBER, number

_STEP = re.compile(rf"^\s*iter (\d+): loss ({NUMBER}), time ({NUMBER})ms(?:, mfu ({NUMBER})%)?")
_EVAL = re.compile(rf"^\s*step (\d+): train loss ({NUMBER}), val loss ({NUMBER})")


def read(line: str, log: TextLog) -> bool:
    found = _STEP.match(line)
    if found:
        row = {"iter": float(found[1])}
        for key, value in (("loss", found[2]), ("time", found[3]), ("mfu", found[4])):
            if value is not None and (cell := number(value)) is not None:
                row[key] = cell
        log.add(row)
        return True
    found = _EVAL.match(line)
    if found:
        train, val = number(found[2]), number(found[3])
        if train is not None and val is not None:
            log.add({"iter": float(found[1]), "train loss": train, "val loss": val})
        return True
    return False


LINE = Line("nanogpt", "iter 10: loss 3.2, time 5.12ms, mfu 3.10%", ("iter ", "step "), 20, read)
