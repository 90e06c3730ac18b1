"""PaddleClas: ``[Train][Epoch 1/120][Iter: 10/626]lr: 0.1, CELoss: 6.9, loss: 6.9`` and ``[Eval][Epoch 1][Avg]CELoss: 5.1, loss: 5.1``."""

from __future__ import annotations

import re

from sismo.sources.axis import EPOCH_LENGTH_KEY
from sismo.sources.line import Line, TextLog
from sismo.sources.pairs import find_pairs

_PLACE = re.compile(r"\[(Train|Eval)\]\[Epoch (\d+)(?:/\d+)?\]\[(?:Iter: (\d+)/(\d+)|Avg)\]\s*(.*)")


def read(line: str, log: TextLog) -> bool:
    found = _PLACE.search(line)
    if found is None:
        return False
    train, row = found[1] == "Train", {"epoch": float(found[2])}
    if train and found[3]:
        row |= {"iter": float(found[3]), EPOCH_LENGTH_KEY: float(found[4])}
    elif train or found[3]:
        return True  # the mean of the rows above, or a part of an evaluation
    log.add(row | {key if train else f"val/{key}": value for key, value, _ in find_pairs(f" {found[5]}")})
    return True


LINE = Line("paddle", "[Train][Epoch 1/120][Iter: 10/626]lr: 0.1, top1: 0.01, CELoss: 6.9, loss: 6.9", ("[epoch ",), 20, read)
