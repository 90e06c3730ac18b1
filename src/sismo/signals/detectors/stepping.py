"""Shapes of the LR that show how its scheduler is stepped, built or restored, with nothing known of what was configured."""

from __future__ import annotations

import numpy as np

from sismo.records.channels import LR
from sismo.records.types import Series
from sismo.signals.schedule import Schedule
from sismo.signals.types import Detector, Observation, Threshold, absent, present, unknown
from sismo.signals.view import View

_HELD = Threshold("lr-floor-held", 0.6, 0.6, "share", "as for a floor of 0: reached at 1/N of the run", "Share of the log before which a decay that ends on a floor was over early.")  # fmt: skip
_STAND = 10
"""Rows that a stair of a warmup stands at least: fewer are how often the loop logs."""
_ROWS = 50
_DIP = 0.25
"""Share of the slope of a warmup under which the LR has left it; half a cosine has no such dip between two slopes."""
_REPEATS = 10
"""Rows of a warmup that come again to the last digit."""


def _lr(view: View) -> tuple[Series, Schedule] | Observation:
    lr, schedule = view.finite(LR), view.schedule(LR)
    if lr is None or schedule is None:
        return unknown(LR)
    return (lr, schedule) if len(lr) >= _ROWS and not schedule.constant else absent(LR)


def _rising_stairs(view: View) -> Observation:
    """A warmup in stairs: two rises or more, of one height and at even distances, with level rows between."""
    found = _lr(view)
    if isinstance(found, Observation):
        return found
    lr, schedule = found
    moves = np.diff(lr.values)
    rises = np.flatnonzero(moves) + 1
    falls = np.flatnonzero(moves[rises - 1] < 0)
    rises = rises[: int(falls[0])] if falls.size else rises
    if view.header.step_unit == "epoch" or schedule.rounded or rises.size < 2:
        return absent(LR)
    heights, gaps = moves[rises - 1], np.diff(rises)
    even = float(np.ptp(heights)) <= 0.01 * float(heights.mean()) and int(np.ptp(gaps)) <= 1 and int(gaps.min()) >= _STAND
    return (
        present(int(lr.steps[rises[0]]), channel=LR, length=int(np.diff(lr.steps[rises])[0]), count=int(rises.size)) if even else absent(LR)
    )


def _floor_held(view: View) -> Observation:
    """A decay over many rows that ends on a floor over 0 and stays there to the last digit for most of the log."""
    found = _lr(view)
    if isinstance(found, Observation):
        return found
    lr, schedule = found
    if not 0 < schedule.final < 0.5 * schedule.peak or schedule.rounded or schedule.staircase:
        return absent(LR)
    moving = np.flatnonzero(lr.values != lr.values[-1])
    floor = int(moving[-1]) + 1
    falling = np.diff(lr.values[int(np.argmax(lr.values)) : floor + 1]) < 0
    share = (int(lr.steps[floor]) - int(lr.steps[0])) / max(1, int(lr.steps[-1]) - int(lr.steps[0]))
    smooth = falling.size >= 10 and float(falling.mean()) > 0.8
    early = smooth and share < view.limit("lr-floor-held")
    found = present(int(lr.steps[floor]), int(lr.steps[-1]), strength=0.8, channel=LR, share=share, floor=schedule.final)
    return found if early else absent(LR)


def _climbs_again(view: View) -> Observation:
    """The LR only rises: at first evenly, then hardly, then far beyond where the first rise had got to."""
    found = _lr(view)
    if isinstance(found, Observation):
        return found
    lr, schedule = found
    if not schedule.only_rises or schedule.staircase or schedule.rounded:
        return absent(LR)
    parts = np.array_split(lr.values, min(50, len(lr) // 5))
    slopes = np.array([float(part[-1] - part[0]) / (part.size - 1) for part in parts])
    dip = int(np.argmin(slopes[1:-1])) + 1
    first, beyond = float(slopes[:dip].max()), float(slopes[dip:].max())
    kink = float(parts[dip][0])
    again = slopes[dip] < _DIP * first and beyond > 2 * slopes[dip] and schedule.final > 2 * kink > 0
    steps = np.array_split(lr.steps, len(parts))
    return present(int(steps[dip][0]), int(lr.steps[-1]), channel=LR, kink=kink, last=schedule.final) if again else absent(LR)


def _starts_over(view: View) -> Observation:
    """From well over its floor the LR falls to its first value and repeats the rows of its warmup to the last digit."""
    found = _lr(view)
    if isinstance(found, Observation):
        return found
    lr, schedule = found
    head = lr.values[:_REPEATS]
    if not bool(np.all(np.diff(head) > 0)):
        return absent(LR)
    for at in np.flatnonzero(lr.values[_REPEATS:] == head[0]) + _REPEATS:
        again = lr.values[at : at + _REPEATS]
        if np.array_equal(again, head) and float(lr.values[at - 1]) > 0.3 * schedule.peak:
            return present(int(lr.steps[at]), strength=0.85, channel=LR, before=float(lr.values[at - 1]), after=float(again[0]))
    return absent(LR)


DETECTORS = (
    Detector("lr-warms-up-in-stairs", (LR,), _rising_stairs, "the LR warms up in {count} equal stairs of {length} steps", "the LR does not warm up in stairs"),
    Detector("lr-floor-held", (LR,), _floor_held, "the LR has come down to {floor:.3g} by step {start}, {share:.0%} of the log, and stays there", "the LR does not lie on a floor for most of the log", thresholds=(_HELD,)),
    Detector("lr-climbs-again", (LR,), _climbs_again, "the LR has warmed up to {kink:.3g} by step {start} and then climbs on, to {last:.3g} at the end", "the LR does not climb on after its warmup"),
    Detector("lr-repeats-its-start", (LR,), _starts_over, "at step {start} the LR goes from {before:.3g} back to {after:.3g} and repeats the first rows of its schedule", "the LR does not repeat the start of its schedule"),
)  # fmt: skip
