"""Whether the learning rate does what the configuration of the run says: it can, where the manifest holds the schedule and its lengths."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from sismo.records.channels import LR
from sismo.records.types import Series
from sismo.signals.schedule import Schedule
from sismo.signals.types import Detector, Observation, Threshold, absent, present, unknown
from sismo.signals.view import View

_LATE = Threshold("warmup-overrun", 2, 2, "×", "chosen: a warmup that is off by rounding is off by a step", "Rise past the configured warmup, in warmups.")  # fmt: skip
_EARLY = Threshold("schedule-ends-early", 0.6, 0.6, "share", "catalogue: floor reached at 1/N of the run", "Share of the planned run before which a decay is over too early.")  # fmt: skip
_STRAIGHT = 0.999
"""Correlation of LR and step from which a rise is a straight line, as warmups are; half a cosine has 0.98."""
_AT_PEAK = 0.9
"""Share of the peak that a warmup gets to in its last tenth only."""
_SHORTEST = 10
"""Rows that a stair has to have."""
_DECAYS = ("cosine", "linear", "polynomial", "exponential", "inverse", "wsd")
"""Words in the names of schedules that move at every step and come down in the end."""


def _planned(rule: Callable[[View, Schedule, int, int], Observation]) -> Callable[[View], Observation]:
    """Runs a rule that is given warmup and length of the run as configured, where a decaying schedule is."""

    def look(view: View) -> Observation:
        schedule, header = view.schedule(LR), view.header
        if schedule is None or header.schedule is None or not header.total_steps:
            return unknown("LR, schedule and total_steps in the configuration")
        if not any(word in header.schedule.lower() for word in _DECAYS) or header.step_unit == "epoch":
            return absent(LR)
        return rule(view, schedule, header.warmup_steps or 0, header.total_steps)

    return look


def _rises_on(view: View, schedule: Schedule) -> bool:
    """Whether the LR only rises, well past the warmup that is configured."""
    return schedule.only_rises and not schedule.constant and view.rows(LR) >= 20


def _straight(view: View) -> bool:
    lr = view.finite(LR)
    return lr is not None and float(np.corrcoef(lr.steps, lr.values)[0, 1]) > _STRAIGHT


def _warmup_overrun(view: View, schedule: Schedule, warmup: int, total: int) -> Observation:
    late = view.last_step > view.limit("warmup-overrun") * max(warmup, 1)
    if late and _rises_on(view, schedule) and _straight(view):
        return present(warmup, view.last_step, channel=LR, warmup=warmup, last=schedule.final)
    return absent(LR)


def _upside_down(view: View, schedule: Schedule, warmup: int, total: int) -> Observation:
    late = view.last_step > view.limit("warmup-overrun") * max(warmup, 1)
    if late and _rises_on(view, schedule) and not _straight(view) and not schedule.staircase:
        return present(warmup, view.last_step, channel=LR, schedule=view.header.schedule, last=schedule.final)
    return absent(LR)


def _warmup_skipped(view: View) -> Observation:
    """The LR is at its peak in the first quarter of a warmup that is configured, in a run that begins there.

    In a log that holds no more than a piece of its warmup the first row is near the highest as well; but there the LR only rises. And
    schedules that go down with the root of the step (T5's) hold one LR for so many steps, and call that their warmup.
    """
    schedule, lr, warmup = view.schedule(LR), view.finite(LR), view.header.warmup_steps
    if schedule is None or lr is None or warmup is None:
        return unknown("LR, and warmup_steps in the configuration")
    if view.header.step_unit != "step" or any(note.code == "guessed-step" for note in view.notes):
        return unknown("the step on each row")
    resumed = any(event.kind == "resume" and event.step <= schedule.start for event in view.events)
    rises = schedule.only_rises and not schedule.constant
    inside = lr.values[lr.steps <= warmup]
    held = inside.size >= 3 and float(np.ptp(inside)) == 0.0
    at_peak = schedule.start < warmup / 4 and schedule.first > _AT_PEAK * schedule.peak > 0
    skipped = at_peak and not resumed and not rises and not held
    return present(schedule.start, channel=LR, warmup=warmup, first=schedule.first) if skipped else absent(LR)


def _ends_early(view: View, schedule: Schedule, warmup: int, total: int) -> Observation:
    """The decay is over, and the LR lies on its lowest level, well before the run is."""
    lr = view.finite(LR)
    if lr is None or schedule.final > 0.5 * schedule.peak or view.last_step < view.limit("schedule-ends-early") * total:
        return absent(LR)
    moving = np.flatnonzero(np.abs(lr.values - schedule.final) > 1e-6 * schedule.peak)
    floor = int(lr.steps[moving[-1] + 1]) if moving.size and moving[-1] + 2 < len(lr) else view.last_step
    share = floor / total
    return present(floor, view.last_step, channel=LR, share=share, total=total) if share < view.limit("schedule-ends-early") else absent(LR)


def _stairs(view: View, schedule: Schedule, warmup: int, total: int) -> Observation:
    """A schedule that should move at every step moves in stairs of equal length, over rows that are closer than the stairs."""
    lr = view.finite(LR)
    stairs = lr is not None and not schedule.rounded and (schedule.staircase or _few_stairs(lr))
    return present(channel=LR, schedule=view.header.schedule) if stairs else absent(LR)


def _few_stairs(lr: Series) -> bool:
    """Whether two stairs or more of one length and a last one that is no longer are all there is, too few to be known by their shape."""
    changes = (np.flatnonzero(np.diff(lr.values)) + 1).tolist()
    lengths = [end - start for start, end in pairwise([0, *changes, len(lr)])]
    *whole, last = lengths
    even = len(whole) >= 2 and max(whole) - min(whole) <= 1
    return even and _SHORTEST <= last <= whole[0] + 1 and len(lr) > _SHORTEST * len(lengths)


_NEEDS = (LR, "header")
_HOW = "put the schedule, warmup_steps and total_steps into manifest.json"
DETECTORS = (
    Detector("warmup-skipped", (LR,), _warmup_skipped, "the first LR is {first:.3g}, its peak, though {warmup} steps of warmup are configured", "no configured warmup is missing", "put warmup_steps into the configuration"),
    Detector("warmup-overrun", _NEEDS, _planned(_warmup_overrun), "the LR still rises in a straight line at step {end}, to {last:.3g}; warmup is configured to end at step {start}", "the warmup ends where it is configured to", _HOW, (_LATE,)),
    Detector("lr-upside-down", _NEEDS, _planned(_upside_down), "the LR rises to the end of the run, to {last:.3g}, where the {schedule} schedule should come down from step {start}", "the LR comes down as the schedule says", _HOW, (_LATE,)),
    Detector("schedule-ends-early", _NEEDS, _planned(_ends_early), "the LR is at its end at step {start}, {share:.0%} of the {total} steps that are configured", "the schedule lasts as long as the run", _HOW, (_EARLY,)),
    Detector("lr-stairs-against-config", _NEEDS, _planned(_stairs), "the LR moves in stairs of equal length, though a {schedule} schedule moves at every step", "the LR moves at every step", _HOW),
)  # fmt: skip
