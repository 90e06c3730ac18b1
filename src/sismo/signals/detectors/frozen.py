"""A loss that stops moving from one row to the next, and gradients that are exactly 0: what comes out no longer depends on what goes in."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sismo.records.channels import GRAD_NORM_PRE, LOSS_TRAIN, LR
from sismo.records.numeric import distinct
from sismo.signals.levels import level
from sismo.signals.numerals import decimals, digits
from sismo.signals.types import Detector, Observation, absent, present, unknown
from sismo.signals.view import View

_ROWS, _BEFORE = 10, 5
"""Rows of one value to the end of the log, and rows before them that moved."""
_MOVED = 0.01
"""Share of its level that the loss moved by from row to row: then batches differ, and no two have the same loss by chance."""
_MANY, _CELLS = 30, 100
"""Rows that losses which come again are looked for in, and printable values for each that came, so that they did not meet by chance."""
_AGAIN = 0.75
"""Share of the rows whose loss is in both halves of the log: of batches that are drawn at random, some do not come twice."""
_FEW = 5
"""Rows of gradients of exactly 0 from which on they are no accident."""


def _freezes(view: View) -> Observation:
    """From one row on the same number to its last digit, to the end, in a loss that moved from row to row before and was not at rest."""
    loss = view.finite(LOSS_TRAIN)
    if loss is None or len(loss) < _ROWS + _BEFORE:
        return unknown(LOSS_TRAIN)
    values = loss.values
    last = float(values[-1])
    moved = np.nonzero(values != last)[0]
    start = int(moved[-1]) + 1 if moved.size else 0
    if start < _BEFORE or values.size - start < _ROWS or last == 0.0 or digits(last) < 3:
        return absent(LOSS_TRAIN)
    earlier = values[max(0, start - 20) : start]
    restless = level(np.abs(np.diff(earlier))) > _MOVED * abs(level(earlier))
    lr = view.finite(LR)
    stopped = lr is not None and not bool(np.any(lr.values[lr.steps >= int(loss.steps[start])]))
    found = present(int(loss.steps[start]), int(loss.steps[-1]), channel=LOSS_TRAIN, value=last, rows=values.size - start)
    return found if restless and not stopped and view.objective is None else absent(LOSS_TRAIN)


def _come_again(view: View) -> Observation:
    """A few losses come again and again to the last digit, early and late: the same batches, and the same weights.

    Of as many digits as are printed, next to no two would be the same by chance. Losses that lie on a grid are counts, and say nothing.
    """
    loss = view.finite(LOSS_TRAIN)
    if loss is None or len(loss) < _MANY:
        return unknown(LOSS_TRAIN)
    if distinct(loss.values[: len(loss) * 3 // 10]).size > len(loss) / 4:  # a part of a long log tells that they differ
        return absent(LOSS_TRAIN)
    values = distinct(loss.values)
    half = len(loss) // 2
    if view.objective is not None or not 2 < values.size <= len(loss) / 4 or _on_a_grid(values):
        return absent(LOSS_TRAIN)
    unit = 10.0 ** -max(decimals(value) for value in values.tolist())
    by_chance = float(np.ptp(values)) < _CELLS * values.size * unit
    both = np.intersect1d(loss.values[:half], loss.values[half:])
    again = float(np.mean(np.isin(loss.values, both)))
    found = present(int(loss.steps[0]), int(loss.steps[-1]), channel=LOSS_TRAIN, count=int(values.size), rows=len(loss))
    return found if again >= _AGAIN and not by_chance else absent(LOSS_TRAIN)


def _on_a_grid(values: np.ndarray) -> bool:
    """Whether all gaps are multiples of the smallest one."""
    gaps = np.diff(values) / float(np.diff(values).min())
    return bool(np.all(np.abs(gaps - np.round(gaps)) < 0.02))


def _gradient(view: View) -> Observation | None:
    """Nothing where the gradient norm is exactly 0 on every row of an objective of rewards, else what is to be answered."""
    norm = view.finite(GRAD_NORM_PRE)
    if norm is None or len(norm) < _FEW:
        return unknown(GRAD_NORM_PRE)
    return absent(GRAD_NORM_PRE) if view.objective != "rl" or bool(np.any(norm.values)) else None


def _rewards_differ(view: View) -> bool | None:
    """Whether the rewards of a group differ, in half of the rows or more; None where the log does not say."""
    spread = next((one for name in _SPREADS if (one := view.finite(name)) is not None), None)
    return None if spread is None or len(spread) < _FEW else bool(np.mean(spread.values > 0) >= 0.5)


_SPREADS = ("metric/reward_std", "metric/train/reward_std", "metric/reward/std")


def _without_gradient(*, differ: bool) -> Callable[[View], Observation]:
    """The gradient is exactly 0 on every row: as it has to be where every answer of a group gets the same reward, or though they differ."""

    def look(view: View) -> Observation:
        if (answer := _gradient(view)) is not None:
            return answer
        seen = _rewards_differ(view)
        if seen is None:
            return unknown("the spread of the rewards in a group")
        return present(0, channel=GRAD_NORM_PRE, rows=view.rows(GRAD_NORM_PRE)) if seen is differ else absent(GRAD_NORM_PRE)

    return look


DETECTORS = (
    Detector("loss-freezes", (LOSS_TRAIN,), _freezes, "from step {start} on the loss is {value:.6g} on every row ({rows} of them), to the last digit, where it moved from row to row before: the output no longer depends on the batch", "the loss does not freeze at one number", live=True),
    Detector("losses-come-again", (LOSS_TRAIN,), _come_again, "{rows} rows have {count} different losses, which come again to the last digit from the first half of the log to the second: the same batches, and the same weights", "no losses come again to the last digit"),
    Detector("rewards-all-equal", (GRAD_NORM_PRE, "metric"), _without_gradient(differ=False), "all answers of a group get the same reward and the gradient is exactly 0, on all {rows} rows", "no group with one reward for all leaves the gradient at 0", "log the spread of the rewards in a group"),
    Detector("gradient-zero-though-rewards-differ", (GRAD_NORM_PRE, "metric"), _without_gradient(differ=True), "the gradient is exactly 0 on all {rows} rows although the rewards of a group differ", "the gradient is not 0 under rewards that differ", "log the spread of the rewards in a group"),
)  # fmt: skip
