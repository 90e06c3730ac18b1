"""PyTorch's word_language_model: ``| epoch   1 |   200/ 2983 batches | lr 20.00 | loss  5.1 | ppl  170.2``."""

from __future__ import annotations

import re

from sismo.sources.axis import EPOCH_LENGTH_KEY
from sismo.sources.line import Line, TextLog
from sismo.sources.pairs import find_pairs

_BATCHES = re.compile(r"\bepoch\s+(\d+)\s*\|\s*(\d+)\s*/\s*(\d+)\s+batches\s*\|(.*)", re.IGNORECASE)
_END = re.compile(r"\bend of epoch\s+(\d+)\s*\|(.*)", re.IGNORECASE)


def read(line: str, log: TextLog) -> bool:
    found = _BATCHES.search(line)
    if found:
        row = {"epoch": float(found[1]), "batch": float(found[2]), EPOCH_LENGTH_KEY: float(found[3])}
        log.add(row | _values(found[4]))
        return True
    found = _END.search(line)
    if found and (values := _values(found[2])):
        log.add({"epoch": float(found[1])} | values)
        return True
    # The closing "End of training | test loss" is a result of the run, not a point of its curve.
    return "end of training" in line.lower()


def _values(text: str) -> dict[str, float]:
    return {key: value for field in text.split("|") for key, value, _ in find_pairs(field)}


LINE = Line(
    "word-lm", "| epoch   1 |   200/ 2983 batches | lr 20.00 | ms/batch 11.61 | loss  5.10 | ppl   164.02", ("batches", "end of "), 20, read
)
