"""Whether the loss leaps where there are too few rows around it for a spike: at the start, in a short log, at the end."""

from __future__ import annotations

import math

import numpy as np

from sismo.records.channels import LOSS_TRAIN
from sismo.signals.levels import level, noise, wander
from sismo.signals.types import Detector, Observation, absent, present, unknown
from sismo.signals.view import View

_FAR, _FEWEST = 10, 3
"""Times its start; rows that tell a leap from two numbers."""


def _jumps_at_start(view: View) -> Observation:
    """In the first rows the loss leaps, within two of them, to half as much again as its start, and does not fall back in the next.

    Ten times its start is not back, however much higher it was.
    """
    loss = view.finite(LOSS_TRAIN)
    if loss is None or len(loss) < _FEWEST:
        return unknown(LOSS_TRAIN)
    if int(loss.steps[0]) > 2 * loss.interval or view.objective is not None:
        return absent(LOSS_TRAIN)
    first = loss.values[:12]
    start = float(first[0])
    rough = noise(loss.values[12:112]) if len(loss) >= 24 else 0.0
    over = np.nonzero(first[1:] > max(1.5 * start, start + 10 * rough))[0] + 1
    if start <= 0 or not over.size:
        return absent(LOSS_TRAIN)
    index = int(over[0])
    if float(first[index] - first[max(0, index - 2)]) < 0.5 * float(first[index] - start):
        return absent(LOSS_TRAIN)  # it climbs
    if math.log(float(first[index]) / start) < 5 * _multiplied(loss.values[index:112]):
        return absent(LOSS_TRAIN)
    following = loss.values[index + 1 : index + 4]
    stays = not following.size or level(following) > min(start + 0.5 * (float(first[index]) - start), _FAR * start)
    return present(int(loss.steps[index]), channel=LOSS_TRAIN, start_value=start, peak=float(first[index])) if stays else absent(LOSS_TRAIN)


def _multiplied(values: np.ndarray) -> float:
    """Standard deviation of the logarithms from row to row, exponential growth taken off; 0 for fewer than 8 rows, or where one is not over 0."""
    if values.size < 8 or not float(values.min()) > 0:
        return 0.0
    return wander(np.log(values))


def _leaps_in_short(view: View) -> Observation:
    """In a log too short for a window: from three steady rows or more to three times as much, and it stays."""
    loss = view.finite(LOSS_TRAIN)
    if loss is None or not len(loss):
        return unknown(LOSS_TRAIN)
    if len(loss) >= view.limit("min-rows") or view.objective is not None:
        return absent(LOSS_TRAIN)
    for at in range(3, len(loss)):
        earlier, later = loss.values[:at], loss.values[at : at + 4]
        base = float(earlier.max())
        stays = later.size == 1 or level(later) > 1.5 * base
        if base > 0 and float(later[0]) > max(3 * base, base + 10 * noise(earlier)) and stays:
            return present(int(loss.steps[at]), strength=0.7, channel=LOSS_TRAIN, before=level(earlier), peak=float(later[0]))
    return absent(LOSS_TRAIN)


def _leaps_at_end(view: View) -> Observation:
    """In the last rows to three times as much as ever in the 100 rows before, in the very last one to ten times: there the log ends."""
    loss = view.finite(LOSS_TRAIN)
    if loss is None or not len(loss):
        return unknown(LOSS_TRAIN)
    if len(loss) < view.limit("min-rows") or view.objective is not None:
        return absent(LOSS_TRAIN)
    for rows in (4, 3, 2, 1):
        earlier, later = loss.values[-100 - rows : -rows], loss.values[-rows:]
        base, room = float(earlier.max()), 10 * noise(earlier)
        if base > 0 and float(later.min()) > max((10 if rows == 1 else 3) * base, base + room):
            step, peak = int(loss.steps[-rows]), float(later.max())
            return present(step, int(loss.steps[-1]), strength=0.8, channel=LOSS_TRAIN, before=level(earlier), peak=peak)
    return absent(LOSS_TRAIN)


_R = (LOSS_TRAIN,)
DETECTORS = (
    Detector("loss-leaps-at-start", _R, _jumps_at_start, "the loss leaps from {start_value:.4g} to {peak:.4g} at step {start}, in its first rows, and stays up", "no leap in the first rows"),
    Detector("loss-leaps-in-short-log", _R, _leaps_in_short, "the loss leaps from {before:.4g} to {peak:.4g} at step {start} and stays up", "no leap in a short log"),
    Detector("loss-leaps-at-end", _R, _leaps_at_end, "the loss leaps from {before:.4g} to {peak:.4g} at step {start}, and there the log ends", "the log does not end in a leap of the loss"),
)  # fmt: skip
