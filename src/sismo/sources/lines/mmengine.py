"""OpenMMLab: ``Epoch(train) [1][2/6]  lr: 4e-08  loss: 0.42``, ``Iter(train) [50/20000]`` and mmcv's older ``Epoch [1][50/7330]``."""

from __future__ import annotations

import re

from sismo.sources.axis import EPOCH_LENGTH_KEY
from sismo.sources.line import Line, TextLog
from sismo.sources.pairs import find_pairs

_EPOCH = re.compile(r"\bEpoch\s*(?:\((\w+)\))?\s*\[\s*(\d+)\]\s*\[\s*(\d+)/\s*(\d+)\]\s*(.*)")
_ITER = re.compile(r"\bIter\s*(?:\((\w+)\))?\s*\[\s*(\d+)/\s*(\d+)\]\s*(.*)")


def read(line: str, log: TextLog) -> bool:
    found = _EPOCH.search(line)
    if found:
        epoch, batch, batches = float(found[2]), float(found[3]), float(found[4])
        if found[1] in (None, "train"):
            log.add({"epoch": epoch, "iter": batch, EPOCH_LENGTH_KEY: batches} | _values(found[5], ""))
        elif batch == batches and (values := _values(found[5], f"{found[1]}/")):
            log.add({"epoch": epoch} | values)
        return True
    found = _ITER.search(line)
    if found:
        if found[1] in (None, "train"):
            log.add({"iter": float(found[2]), "total_steps": float(found[3])} | _values(found[4], ""))
        elif found[2] == found[3] and (values := _values(found[4], f"{found[1]}/")):
            log.add(values)
        return True
    return False


def _values(text: str, prefix: str) -> dict[str, float]:
    return {prefix + key: value for key, value, _ in find_pairs(text) if key not in ("eta", "epoch", "iter")}


LINE = Line("mmengine", "Epoch(train)   [1][2/6]  lr: 2.1e-04  eta: 4:30:58  time: 9.04  loss: 0.422", ("epoch", "iter"), 20, read)
