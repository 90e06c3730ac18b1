"""Whether a run unlearns by fading: its scores shrink to a uniform guess, which is what weights that shrink to nothing do."""

from __future__ import annotations

import numpy as np

from sismo.records.channels import GRAD_NORM_PRE, LOSS_TRAIN
from sismo.signals.levels import level, noise, part_ends, part_levels
from sismo.signals.types import Detector, Observation, absent, present, unknown
from sismo.signals.view import View

_PARTS, _ROWS = 20, 200
"""Parts of the log that the loss is judged by, and the rows that it takes."""
_LEARNT, _BACK, _OVER = 0.8, 0.9, 1.1
"""Shares of the first level: under the first something was learnt, over the second it is lost again, over the third it overshoots."""
_CALM, _WILD, _QUIET = 0.7, 3.0, 0.25
"""Gradient norm at the end, gradient norm of any rows of the climb, and noise of the loss at the end, each over that before the climb."""
_CLIMB = 4
"""Rows that a climb takes at least, from a tenth to nine tenths of its height: wrong labels or a bad step take one."""
_SMOOTH = 5
"""Rows whose median is looked at for an overshoot."""


def _fades(view: View) -> Observation:
    """From its best level the loss climbs back to its first one within some rows and never over it, and both the gradient norm and the noise
    shrink meanwhile. Wrong labels and a bad update overshoot, in one row, and raise the norm.
    """
    loss, norm = view.finite(LOSS_TRAIN), view.finite(GRAD_NORM_PRE)
    if loss is None:
        return unknown(LOSS_TRAIN)
    if len(loss) < _ROWS or view.nonfinite(LOSS_TRAIN) or not float(loss.values.min()) >= 0.0 or view.header.objective is not None:
        return absent(LOSS_TRAIN)
    parts = view.parts(LOSS_TRAIN, _PARTS)
    first, best, last = level(loss.values[: max(_SMOOTH, len(loss) // 100)]), int(np.argmin(parts)), level(parts[-2:])
    height = last - float(parts[best])
    if not (
        np.isfinite(parts).all()
        and np.isfinite(height)
        and parts[best] < _LEARNT * first
        and _BACK * first < last <= _OVER * first
        and best < _PARTS - 3
    ):
        return absent(LOSS_TRAIN)
    low = best + int(np.flatnonzero(parts[best:] <= parts[best] + 0.2 * height)[-1])
    at = int(part_ends(len(loss), _PARTS)[low]) + 1
    later = loss.values[at - len(loss) // _PARTS :]
    if later.size < 4 * _SMOOTH or _smooth(later).max() > _OVER * first or _climb(later, float(parts[best]), height) < _CLIMB:
        return absent(LOSS_TRAIN)
    if norm is None:
        return unknown(GRAD_NORM_PRE)
    start, window = int(loss.steps[at]), max(2 * _SMOOTH, len(loss) // 10)
    before, after = norm.values[norm.steps < start][-window:], norm.values[norm.steps >= start]
    if before.size < _SMOOTH or after.size < 2 * _SMOOTH:
        return unknown(GRAD_NORM_PRE)
    usual, now = level(before), level(after[-window:])
    calm = now < _CALM * usual and float(_smooth(after).max()) < _WILD * usual
    quiet = noise(loss.values[-window:]) < _QUIET * noise(loss.values[max(0, at - 2 * window) : at - len(loss) // _PARTS])
    found = present(start, view.last_step, channel=LOSS_TRAIN, best=float(parts[best]), last=last, first=first, norm=now, usual=usual)
    return found if calm and quiet else absent(LOSS_TRAIN)


def _smooth(values: np.ndarray) -> np.ndarray:
    """Medians of rows that follow each other."""
    return part_levels(values, max(1, values.size // _SMOOTH))


def _climb(values: np.ndarray, best: float, height: float) -> int:
    """Rows from the last one under a tenth of the height to the first one over nine tenths."""
    high = np.flatnonzero(values >= best + 0.9 * height)
    end = int(high[0]) if high.size else values.size
    low = np.flatnonzero(values[:end] <= best + 0.1 * height)
    return end - (int(low[-1]) if low.size else 0)


DETECTORS = (
    Detector("scores-fade", (LOSS_TRAIN, GRAD_NORM_PRE), _fades, "from step {start} on the loss climbs from {best:.4g} to {last:.4g}, where it began, and not over it, while the gradient norm shrinks from {usual:.3g} to {norm:.3g}: the scores fade to a guess, as they do when weights shrink", "the scores do not fade to a guess"),
)  # fmt: skip
