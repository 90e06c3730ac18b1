"""Kaldi's nnet3: ``Average objective function for 'output' for minibatches 0-99 is -0.35 over 64000 frames.``

The objective is maximised; its negative is the loss.
"""

from __future__ import annotations

import re

from sismo.sources.line import Line, TextLog
from sismo.sources.numbers import NUMBER, number

_AVERAGE = re.compile(rf"\bAverage objective function for '([\w.-]+)' for minibatches \d+-(\d+) is ({NUMBER})", re.IGNORECASE)


def read(line: str, log: TextLog) -> bool:
    found = _AVERAGE.search(line)
    value = number(found[3]) if found else None
    if found is None or value is None:
        return False
    key = "objective loss" if found[1] == "output" else f"{found[1]} loss"
    log.add({"step": float(found[2]), key: -value})
    return True


LINE = Line("kaldi", "Average objective function for 'output' for minibatches 0-99 is -0.35 over 64000 frames.",
            ("objective function for",), 20, read)  # fmt: skip
