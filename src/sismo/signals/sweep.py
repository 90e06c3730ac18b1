"""Whether the LR is swept, as a range test does: by one factor from row to row, from far under any useful rate to far over it."""

from __future__ import annotations

import numpy as np

from sismo.records.channels import LOSS_TRAIN, LR
from sismo.records.types import Series
from sismo.signals.levels import level
from sismo.signals.view import View

_LEAST = 5
"""Rows that tell an even growth."""
_EVEN = 0.04
"""Furthest row from the straight line through the logarithm of the LR, in parts of its growth; a linear warmup is 0.3 and more away."""
_HIGH = 0.01
"""An LR at the end under which no test for too high a rate would stop."""
_EARLY = 1.5
"""Level of the loss over that of its first rows which it must not pass while the LR is in the lower half of its decades."""


def is_swept(view: View) -> bool:
    """Whether the LR rises evenly in its logarithm, but for its last digit, by three decades or more and to 0.01 or more.

    False where nothing tells.

    Not where the loss is lost or high in the lower half of those decades: that is no end of a range test, and has a cause of its own.
    """
    lr, loss = view.finite(LR), view.series(LOSS_TRAIN)
    if lr is None or loss is None or len(lr) < _LEAST or not _is_even(lr, view.limit("range-test-growth")):
        return False
    middle = int(lr.steps[np.searchsorted(lr.values, float(lr.values[0] * lr.values[-1]) ** 0.5)])
    low = loss.values[loss.steps < middle]
    few = max(1, low.size // 10)
    return low.size > 0 and bool(np.isfinite(low).all()) and level(low[-few:]) <= _EARLY * level(low[:few])


def _is_even(lr: Series, least: float) -> bool:
    """Whether an LR grows that far, row by row and along a straight line of its logarithm."""
    values = lr.values
    if not (values[0] > 0 and values[-1] >= max(_HIGH, least * values[0]) and bool((np.diff(values) >= 0).all())):
        return False
    logs, span = np.log(values), float(np.log(values[-1] / values[0]))
    line = logs[0] + span * (lr.steps - lr.steps[0]) / float(lr.steps[-1] - lr.steps[0])
    return bool(np.abs(logs - line).max() <= _EVEN * span)
