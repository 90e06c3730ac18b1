"""Bare lines of lectures and notebooks: ``  2000/ 200000: 2.41`` (makemore), ``Loss at iteration 10 : 1.22``, ``Loss [1, 100]: 2.3``."""

from __future__ import annotations

import re

from sismo.sources.line import Line, TextLog
from sismo.sources.numbers import NUMBER, number

_MAKEMORE = re.compile(rf"^\s*(\d+)\s*/\s*(\d+):\s*({NUMBER})\s*$")
_LOSS_AT = re.compile(
    rf"\b((?:\w+ )?(?:loss|cost)) (?:at|after|in|for) (?:iteration|iter|step|epoch)\s*#?(\d+)\s*(?:is|=|:|->)\s*({NUMBER})", re.IGNORECASE
)
_IN_BRACKETS = re.compile(rf"^\W*((?:\w+ )?(?:loss|cost)) \[(\d+),\s*(\d+)\]\s*(?:\([^)]*\))?\s*[:=]\s*({NUMBER})", re.IGNORECASE)


def read(line: str, log: TextLog) -> bool:
    found = _IN_BRACKETS.match(line)
    value = number(found[4]) if found else None
    if found and value is not None:
        log.add({"epoch": float(found[2]), "batch": float(found[3]), found[1].lower(): value})
        return True
    found = _MAKEMORE.match(line)
    if found:
        value = number(found[3])
        if value is not None:
            log.add({"step": float(found[1]), "total_steps": float(found[2]), "loss": value})
        return value is not None
    found = _LOSS_AT.search(line)
    value = number(found[3]) if found else None
    if found is None or value is None:
        return False
    log.add({"epoch" if "epoch" in found[0].lower() else "step": float(found[2]), found[1].strip().lower(): value})
    return True


LINE = Line("step-colon", "   2000/ 200000: 2.41", ("/", "loss ", "cost "), 30, read)
