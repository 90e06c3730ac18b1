"""XGBoost, LightGBM and CatBoost: ``[10]  train-logloss:0.61  eval-logloss:0.64`` and ``10:  learn: 0.61  test: 0.64  best: 0.64 (10)``."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sismo.sources.cells import Cell, cells_by, group_cell
from sismo.sources.line import Line
from sismo.sources.numbers import NUMBER

_ROUND = re.compile(r"^\s*\[(\d+)\]\s+(\S.*)$")
_METRIC = re.compile(rf"([A-Za-z][\w' @.-]*?):\s*({NUMBER})")
_CATBOOST = re.compile(rf"^\s*(\d+):\s+learn: ({NUMBER})(?:\s+test: ({NUMBER}))?")
_SCORES = re.compile(r"auc|ndcg|map|acc|f1|precision|recall|error", re.IGNORECASE)


def cells(line: str) -> Sequence[Cell]:
    found = _CATBOOST.match(line)
    if found:
        return [cell for group, name in enumerate(("iteration", "train/loss", "val/loss"), 1) for cell in group_cell(name, found, group)]
    found = _ROUND.match(line)
    metrics = [cell._replace(key=_name(cell.key)) for cell in cells_by(_METRIC, line, found.start(2))] if found else []
    return [*group_cell("iteration", found, 1), *metrics] if found and any(cell.key.endswith("loss") for cell in metrics) else ()


def _name(key: str) -> str:
    """``eval-logloss`` and ``valid_1's binary_logloss`` as a loss of their data set; scores keep their names."""
    name = re.split(r"'s |-", key, maxsplit=1)
    if len(name) < 2 or _SCORES.search(name[1]):
        return key
    side = "train" if name[0].lower().startswith("train") else "val"
    return f"{side}/loss" if side == "train" or name[0].lower() in ("eval", "test", "valid", "validation") else f"{side}/{name[0]} loss"


LINE = Line("boosting", "[10]\ttrain-logloss:0.61234\teval-logloss:0.64321", ("train-", "eval-", "validation_", "'s ",
            "valid_", "learn:"), 40, cells=cells)  # fmt: skip
