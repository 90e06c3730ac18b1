"""XGBoost, LightGBM and CatBoost: ``[10]  train-logloss:0.61  eval-logloss:0.64`` and ``10:  learn: 0.61  test: 0.64  best: 0.64 (10)``."""

from __future__ import annotations

import re

from sismo.sources.line import Line, TextLog
from sismo.sources.numbers import NUMBER, number

_ROUND = re.compile(r"^\s*\[(\d+)\]\s+(\S.*)$")
_METRIC = re.compile(rf"([A-Za-z][\w' @.-]*?):\s*({NUMBER})")
_CATBOOST = re.compile(rf"^\s*(\d+):\s+learn: ({NUMBER})(?:\s+test: ({NUMBER}))?")
_SCORES = re.compile(r"auc|ndcg|map|acc|f1|precision|recall|error", re.IGNORECASE)


def read(line: str, log: TextLog) -> bool:
    found = _CATBOOST.match(line)
    if found:
        fields = (("train/loss", found[2]), ("val/loss", found[3]))
        log.add({"iteration": float(found[1])} | {key: value for key, text in fields if text and (value := number(text)) is not None})
        return True
    found = _ROUND.match(line)
    if found is None:
        return False
    metrics = {_name(key.strip()): value for key, text in _METRIC.findall(found[2]) if (value := number(text)) is not None}
    if not any(key.endswith("loss") for key in metrics):
        return False
    log.add({"iteration": float(found[1])} | metrics)
    return True


def _name(key: str) -> str:
    """``eval-logloss`` and ``valid_1's binary_logloss`` as a loss of their data set; scores keep their names."""
    name = re.split(r"'s |-", key, maxsplit=1)
    if len(name) < 2 or _SCORES.search(name[1]):
        return key
    side = "train" if name[0].lower() in ("train", "training") else "val"
    return f"{side}/loss" if side == "train" or name[0].lower() in ("eval", "test", "valid", "validation") else f"{side}/{name[0]} loss"


LINE = Line("boosting", "[10]\ttrain-logloss:0.61234\teval-logloss:0.64321", ("train-", "eval-", "validation_", "training's",
            "valid_", "learn:"), 40, read)  # fmt: skip
