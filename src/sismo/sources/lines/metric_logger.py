"""timm, Swin, torchvision, DETR: ``Train: 0 [  50/1251 (  4%)]  Loss: 6.9 (6.9)``, ``Epoch: [0]  [ 10/1250]  eta: 0:30  loss: 4.1 (4.6)``.

Evaluations count batches of their own, ``Test: [  48/48]  Loss: 1.1 (1.2)``; the last line of one has its mean in parentheses.
"""

from __future__ import annotations

import re
from typing import cast

from sismo.records.types import Note
from sismo.sources.axis import EPOCH_LENGTH_KEY
from sismo.sources.line import Line, TextLog
from sismo.sources.numbers import NUMBER, number
from sismo.sources.pairs import find_pairs

_TRAIN = re.compile(r"\b(?:Train|Epoch):\s*\[?(\d+)(?:/\d+)?\]?\s*\[\s*(\d+)/(\d+)[^\]]*\](.*)")
_TEST = re.compile(r"\b(?:Test|Val|Valid|Validation|Eval):\s*\[\s*(\d+)/(\d+)[^\]]*\](.*)")
_MEAN = re.compile(rf"([A-Za-z][\w@./-]*):?\s+{NUMBER}\s*\(\s*({NUMBER})\s*\)")
_MEDIAN = re.compile(r"\beta: .*\bloss: \S+ \(")
"""The logger that DETR, DeiT and MAE share prints the median of its last 20 steps, and the mean of the epoch in parentheses."""


def read(line: str, log: TextLog) -> bool:
    found = _TRAIN.search(line)
    if found:
        finish(log)
        if log.memo.setdefault("metric-logger-median", bool(_MEDIAN.search(line))) and "metric-logger-epoch" not in log.memo:
            log.rows.notes.append(
                Note("smoothed-loss", "{key} is the median of the last 20 steps, not the loss of each step", {"key": "loss"})
            )
        log.memo["metric-logger-epoch"] = float(found[1])
        row = {"epoch": float(found[1]), "batch": float(found[2]), EPOCH_LENGTH_KEY: float(found[3])}
        log.add(row | {key: value for key, value, _ in find_pairs(found[4])})
        return True
    found = _TEST.search(line)
    if found:
        means = {f"val/{key}": value for key, text in _MEAN.findall(found[3]) if (value := number(text)) is not None}
        log.memo["metric-logger-test"] = means
        return True
    # "Averaged stats: …" repeats the means of what was just printed.
    return line.lstrip().startswith("Averaged stats:")


def finish(log: TextLog) -> None:
    """Adds the last line of an evaluation, once it is known to be the last."""
    means = cast("dict[str, float]", log.memo.pop("metric-logger-test", {}))
    if means:
        epoch = cast("float | None", log.memo.get("metric-logger-epoch"))
        log.add(means if epoch is None else {"epoch": epoch} | means)


LINE = Line(
    "metric-logger",
    "Train: 0 [  50/1251 (  4%)]  Loss: 6.93 (6.95)  Time: 0.4s, 300.1/s  LR: 1.0e-05",
    ("train:", "epoch:", "test:", "val:", "valid:", "validation:", "eval:", "averaged stats:"),
    18,
    read,
    finish=finish,
)
