"""MXNet's Module: ``Epoch[0] Batch [20]  Speed: 1000.1 samples/sec  cross-entropy=2.3`` and ``Epoch[0] Validation-cross-entropy=1.2``."""

from __future__ import annotations

import re

from sismo.sources.line import Line, TextLog
from sismo.sources.numbers import NUMBER, number

_BATCH = re.compile(r"\bEpoch\[(\d+)\] Batch \[(?:\d+-)?(\d+)\]\s+Speed:\s*\S+ samples/sec\s+(.*)")
_EPOCH = re.compile(rf"\bEpoch\[(\d+)\] (Train|Validation)-([\w-]+)=({NUMBER})")
_PAIR = re.compile(rf"([\w-]+)=({NUMBER})")
_LOSSES = frozenset({"cross-entropy", "nll-loss", "loss", "mse", "rmse", "mae", "multibox-loss"})


def read(line: str, log: TextLog) -> bool:
    found = _BATCH.search(line)
    if found:
        row = {_name(key): value for key, text in _PAIR.findall(found[3]) if (value := number(text)) is not None}
        log.add({"epoch": float(found[1]), "batch": float(found[2])} | row)
        return True
    found = _EPOCH.search(line)
    value = number(found[4]) if found else None
    if found is None or value is None:
        return False
    side = "val" if found[2] == "Validation" else "epoch"
    log.add({"epoch": float(found[1]), f"{side}/{_name(found[3])}": value})
    return True


def _name(metric: str) -> str:
    return "loss" if metric in _LOSSES else metric


LINE = Line("mxnet", "Epoch[0] Batch [20]\tSpeed: 1000.10 samples/sec\taccuracy=0.1\tcross-entropy=2.302585", ("epoch[",), 20, read)
