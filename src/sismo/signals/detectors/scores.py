"""What the scores on held-out examples tell that no loss does."""

from __future__ import annotations

import re

import numpy as np

from sismo.records.channels import LOSS_TRAIN, LOSS_VAL
from sismo.records.types import Series
from sismo.signals.levels import level
from sismo.signals.numerals import digits
from sismo.signals.types import Detector, Observation, absent, present, unknown
from sismo.signals.view import View

_ROWS = 10
"""Evaluations that a score has to stand through."""
_FALL = 0.1
"""Share of its first level by which the training loss has fallen where something was learnt."""
_EASY = 0.97
"""Share over which a score that stands may be of a task that is solved."""
_HELD_OUT = frozenset({"val", "vali", "valid", "validation", "eval", "evaluation", "test", "dev"})
_SCORES = frozenset({"acc", "accuracy", "f1", "iou", "miou", "dice", "top1", "precision", "recall", "score"})
_WORD = re.compile(r"[a-z]+\d*")


def _held_out(view: View) -> list[Series]:
    found: list[Series] = []
    for channel in view.channels:
        words = set(_WORD.findall(channel.lower()))
        series = view.finite(channel) if channel.startswith("metric/") and words & _HELD_OUT and words & _SCORES else None
        if series is not None and len(series):
            found.append(series)
    return found


def _one_answer(value: float) -> bool:
    """Whether so many digits do not meet by chance, or it is the share of one class out of a few of one size."""
    share = value / 100 if value > 1 else value
    return 0 < share < _EASY and (digits(value) >= 3 or any(abs(share - 1 / count) < 5e-5 for count in range(2, 11)))


def _never_moves(view: View) -> Observation:
    """Every score on the held-out examples is the same on each of ten evaluations or more, to its last digit, from the first row of the run.

    The training loss falls by less than a tenth meanwhile and the validation loss by less than a twentieth: else something is learnt.
    """
    scores, loss, val = _held_out(view), view.finite(LOSS_TRAIN), view.finite(LOSS_VAL)
    if loss is None or not len(loss):
        return unknown(LOSS_TRAIN)
    if not scores or len(loss) < _ROWS or min(map(len, scores)) < _ROWS:
        return absent("metric")
    starts = int(loss.steps[0]) <= 2 * loss.interval
    stand = all(bool(np.all(series.values == series.values[0])) for series in scores)
    told = next((series for series in scores if _one_answer(float(series.values[0]))), None)
    if not starts or not stand or told is None or _fell(loss) > _FALL or (val is not None and len(val) > 2 and _fell(val) > _FALL / 2):
        return absent("metric")
    first, last = int(told.steps[0]), int(told.steps[-1])
    return present(first, last, strength=0.75, channel=told.channel, value=float(told.values[0]), rows=len(told))


def _fell(series: Series) -> float:
    """Share of its first level that a series lost by its last third; by its lowest third, where it rose again."""
    size = max(1, len(series) // 3)
    first = float(series.values[0])
    ends = min(level(series.values[at : at + size]) for at in range(size, len(series) - size + 1, size))
    return (first - ends) / abs(first) if first else 0.0


DETECTORS = (
    Detector("held-out-score-never-moves", (LOSS_TRAIN, "metric"), _never_moves, "{channel} is {value:.6g} at each of {rows} evaluations, to its last digit, and the training loss hardly falls: so it is where every example gets the same answer", "no score on held-out examples stands still beside a loss that hardly falls"),
)  # fmt: skip
