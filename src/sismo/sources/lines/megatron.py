"""Megatron-LM: ``iteration 10/ 1000 | lm loss: 1.244E+01 | loss scale: 4096.0 | grad norm: 1.2 |`` and its validation lines."""

from __future__ import annotations

import re

from sismo.sources.line import Line, TextLog
from sismo.sources.numbers import number

_TRAIN = re.compile(r"\biteration\s+(\d+)\s*/\s*(\d+)\s*\|(.*)")
_VAL = re.compile(r"\b(validation|test) loss at (?:iteration\s+)?(\d+)[^|]*\|(.*)")


def read(line: str, log: TextLog) -> bool:
    found = _TRAIN.search(line)
    if found:
        row = {"iteration": float(found[1]), "total_steps": float(found[2])}
        log.add(row | _fields(found[3], ""))
        return True
    found = _VAL.search(line)
    if found:
        fields = _fields(found[3], "val/")
        if fields:
            log.add({"iteration": float(found[2])} | fields)
        return True
    return False


def _fields(text: str, prefix: str) -> dict[str, float]:
    row: dict[str, float] = {}
    for field in text.split("|"):
        key, _, value = field.partition(":")
        cell = number(value) if value else None
        if cell is not None:
            row[prefix + key.strip()] = cell
    return row


LINE = Line("megatron", "iteration 10/ 1000 | lm loss: 1.244E+01 | loss scale: 4096.0 |", ("iteration", "loss at "), 20, read)
