"""A logged loss that hides what happened: exactly zero, or repeated to the last digit, beside a lost gradient norm."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sismo.records.channels import GRAD_NORM_PRE, LOSS_TRAIN
from sismo.records.types import Series
from sismo.signals.levels import level, wander
from sismo.signals.types import Detector, Observation, Threshold, absent, present, unknown
from sismo.signals.view import View

_NAN_ROWS = Threshold("hidden-nan-share", 0.05, 0.05, "share", "reports: an overflow rate over 5 % is no start-up any more", "Share of rows with a non-finite norm beside a finite loss that is no accident.")  # fmt: skip
_ROUNDED = 0.005
"""A loss under this is printed as 0.00, or often as 0.000 in the next row."""
_STARTUP_ROWS = 35
"""A scaler that starts at 2^32 needs up to 32 halvings, each a skipped step with a non-finite norm."""


def _zero_run(view: View) -> tuple[Series, int] | None:
    """The loss and the index from which it is exactly 0 to the end, or None. Zeros that rounding explains do not count."""
    loss = view.finite(LOSS_TRAIN)
    if loss is None or not len(loss):
        return None
    zero = loss.values == 0.0
    if not bool(zero[-1]):
        return None
    nonzero = np.nonzero(~zero)[0]
    start = int(nonzero[-1]) + 1 if nonzero.size else 0
    if start == 0:
        return loss, 0
    before = np.abs(loss.values[max(0, start - 20) : start])
    smallest = float(before[before > 0].min()) if bool((before > 0).any()) else 0.0
    tiny = max(0.02 * float(np.abs(loss.values[: max(1, start // 10)]).max()), _ROUNDED)
    return (loss, start) if smallest > tiny else None


def _came_back(loss: Series, start: int) -> bool:
    """Whether the loss was exactly 0 before and then was not: a hinge or a triplet loss may be, a lost one never returns."""
    zero = loss.values[:start] == 0.0
    return bool(np.any(zero[:-1] & ~zero[1:]))


def _zero(view: View) -> Observation:
    if view.series(LOSS_TRAIN) is None:
        return unknown(LOSS_TRAIN)
    found = _zero_run(view)
    if found is None:
        return absent(LOSS_TRAIN)
    loss, start = found
    rows = len(loss) - start
    strength = 0.5 if rows == 1 or _came_back(loss, start) else 1.0 if rows >= 3 else 0.8
    return present(int(loss.steps[start]), int(loss.steps[-1]), strength=strength, channel=LOSS_TRAIN, rows=rows)


def _zero_from_start(view: View) -> Observation:
    if view.series(LOSS_TRAIN) is None:
        return unknown(LOSS_TRAIN)
    found = _zero_run(view)
    return present(int(found[0].steps[0]), channel=LOSS_TRAIN) if found is not None and found[1] == 0 else absent(LOSS_TRAIN)


def _zero_later(view: View) -> Observation:
    """Exactly 0 for two rows or more, to the end, after three rows or more of a loss that was not: no batch of a kind comes that late.

    After fewer, four rows of 0 say it: labels that are masked in some batches would show in others.

    Where the norm is logged, it says more.
    """
    if view.series(LOSS_TRAIN) is None:
        return unknown(LOSS_TRAIN)
    found = _zero_run(view) if not view.rows(GRAD_NORM_PRE) else None
    if found is None or found[1] < 1 or len(found[0]) - found[1] < (2 if found[1] >= 3 else 4):
        return absent(LOSS_TRAIN)
    loss, start = found
    if _came_back(loss, start):
        return absent(LOSS_TRAIN)
    return present(int(loss.steps[start]), strength=0.85, channel=LOSS_TRAIN, rows=start, last=float(loss.values[start - 1]))


def _norm_while_zero(view: View) -> np.ndarray | None:
    """Gradient norms over the rows at which the loss is exactly zero to the end; None where either is not there."""
    found, norm = _zero_run(view), view.series(GRAD_NORM_PRE)
    if found is None or norm is None:
        return None
    loss, start = found
    values = norm.values[norm.steps >= int(loss.steps[start])]
    return values if values.size else None


def _zero_norm_zero(view: View) -> Observation:
    return _zero_with(view, lambda values: bool(np.all(values == 0.0)))


def _zero_norm_nan(view: View) -> Observation:
    return _zero_with(view, lambda values: bool(np.mean(~np.isfinite(values)) > 0.5))


def _zero_norm_alive(view: View) -> Observation:
    return _zero_with(view, lambda values: bool(np.mean(np.isfinite(values) & (values > 0)) > 0.5))


def _zero_with(view: View, fits: Callable[[np.ndarray], bool]) -> Observation:
    if not view.rows(LOSS_TRAIN):
        return unknown(LOSS_TRAIN)
    found = _zero_run(view)
    if found is None:
        return absent(LOSS_TRAIN)
    values = _norm_while_zero(view)
    if values is None:
        return unknown(GRAD_NORM_PRE)
    return present(int(found[0].steps[found[1]]), channel=GRAD_NORM_PRE) if fits(values) else absent(GRAD_NORM_PRE)


def _norm_nan_loss_finite(view: View) -> Observation:
    """Rows with a lost norm beside a finite loss, oftener than a scaler at work explains, or to the end of the log."""
    loss, norm = view.series(LOSS_TRAIN), view.series(GRAD_NORM_PRE)
    if norm is None or not len(norm):
        return unknown(GRAD_NORM_PRE)
    if loss is None or not len(loss):
        return _silent(view, norm, -1, 0) or unknown(LOSS_TRAIN)
    if not bool(np.isnan(norm.values).any()):
        return absent(GRAD_NORM_PRE)
    shared, at_loss, at_norm = np.intersect1d(loss.steps, norm.steps, assume_unique=True, return_indices=True)
    lost = np.isfinite(loss.values[at_loss]) & np.isnan(norm.values[at_norm])
    count = int(lost.sum())
    if silent := _silent(view, norm, int(loss.steps[-1]), count):
        return silent
    if not count:
        return absent(GRAD_NORM_PRE)
    first = int(np.argmax(lost))
    to_the_end = bool(lost[-1]) and count >= 2 and bool(lost[-2:].all())
    late = int(lost[min(_STARTUP_ROWS, len(lost)) :].sum())
    often = late / max(1, len(lost) - _STARTUP_ROWS) > view.limit("hidden-nan-share") and late >= 2
    if not (to_the_end or often):
        return absent(GRAD_NORM_PRE)
    return present(int(shared[first]), int(shared[np.nonzero(lost)[0][-1]]), channel=GRAD_NORM_PRE, count=count, rows=len(lost))


def _silent(view: View, norm: Series, last: int, count: int) -> Observation | None:
    """A trainer that prints no loss for a lost step (Megatron) leaves rows with a NaN norm and nothing else: three or more, to the end."""
    after = norm.steps > last
    steps, scale = norm.steps[after], view.scale()
    if steps.size < 3 or not bool(np.isnan(norm.values[after]).all()) or not (scale is None or scale.placeholder or scale.constant):
        return None
    return present(int(steps[0]), int(steps[-1]), channel=GRAD_NORM_PRE, count=int(steps.size) + count, rows=len(norm))


def _repeated(view: View) -> Observation:
    """A loss equal to the row before to the last digit at the very row at which the norm is NaN."""
    loss, norm = view.series(LOSS_TRAIN), view.series(GRAD_NORM_PRE)
    if loss is None:
        return unknown(LOSS_TRAIN)
    if norm is None:
        return unknown(GRAD_NORM_PRE)
    lost = set(norm.steps[np.isnan(norm.values)].tolist())
    same = np.nonzero((np.diff(loss.values) == 0.0) & (loss.values[1:] != 0.0))[0] + 1
    hits = [int(loss.steps[i]) for i in same if int(loss.steps[i]) in lost]
    return present(hits[0], hits[-1], channel=LOSS_TRAIN, count=len(hits)) if hits else absent(LOSS_TRAIN)


def _skipped_throughout(view: View) -> Observation:
    """From the first row on the norm is lost while the loss, which differs from row to row, keeps its level: no step was ever taken.

    A step on such a gradient would have lost the weights, and the loss with them. Nine rows of ten, so that a rare sound step is no matter.
    """
    loss, norm = view.finite(LOSS_TRAIN), view.series(GRAD_NORM_PRE)
    if loss is None or len(loss) < 20 or norm is None or len(norm) < 20:
        return unknown(GRAD_NORM_PRE if norm is None else LOSS_TRAIN)
    lost = ~np.isfinite(norm.values)
    whole = len(loss) == view.rows(LOSS_TRAIN) and not view.objective
    alive = int(np.count_nonzero(np.diff(loss.values))) > 0.9 * len(loss)
    levels = view.parts(LOSS_TRAIN, 10)
    stands = float(np.ptp(levels)) < max(0.01 * abs(level(levels)), 4 * wander(levels))
    found = present(int(norm.steps[0]), int(norm.steps[-1]), strength=0.8, channel=GRAD_NORM_PRE, count=int(lost.sum()), rows=len(norm))
    return found if whole and alive and stands and bool(lost[0]) and float(lost.mean()) >= 0.9 else absent(GRAD_NORM_PRE)


DETECTORS = (
    Detector("loss-exactly-zero", (LOSS_TRAIN,), _zero, "the loss is exactly 0.0 from step {start} to the end ({rows} {rows:row|rows})", "the loss is not stuck at exactly 0", live=True),
    Detector("loss-zero-from-first-row", (LOSS_TRAIN,), _zero_from_start, "it is so from the first logged row", "the loss was above 0 before"),
    Detector("loss-zero-later", (LOSS_TRAIN,), _zero_later, "at step {start} the loss drops from {last:.4g} to exactly 0 and stays there, after {rows} rows that were not 0", "the loss does not drop to exactly 0 on the way"),
    Detector("zero-loss-norm-zero", (LOSS_TRAIN, GRAD_NORM_PRE), _zero_norm_zero, "the gradient norm is exactly 0 on those rows: nothing carries loss", "the gradient norm is not 0 while the loss is"),
    Detector("zero-loss-norm-nan", (LOSS_TRAIN, GRAD_NORM_PRE), _zero_norm_nan, "the gradient norm is NaN on those rows: the true loss is not 0", "the gradient norm is not NaN while the loss is 0"),
    Detector("zero-loss-norm-alive", (LOSS_TRAIN, GRAD_NORM_PRE), _zero_norm_alive, "the gradient norm is not 0 on those rows: the loss is 0 by its definition", "the gradient does not live on while the loss is 0"),
    Detector("norm-nan-loss-finite", (LOSS_TRAIN, GRAD_NORM_PRE), _norm_nan_loss_finite, "the gradient norm is NaN on {count} of {rows} rows (first at step {start}) while no logged loss is lost", "no row has a NaN norm beside a finite loss, beyond a scaler's start-up", thresholds=(_NAN_ROWS,), live=True),
    Detector("every-step-skipped", (GRAD_NORM_PRE, LOSS_TRAIN), _skipped_throughout, "the gradient norm is not finite on {count} of {rows} rows, from the first on, and the loss neither moves nor is lost: every step is skipped", "not every step is skipped for its norm"),
    Detector("loss-repeated-at-nan-norm", (LOSS_TRAIN, GRAD_NORM_PRE), _repeated, "the logged loss repeats to the last digit at step {start}, where the norm is NaN", "the loss never repeats where the norm is NaN"),
)  # fmt: skip
