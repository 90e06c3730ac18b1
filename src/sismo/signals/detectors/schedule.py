"""What the learning rate does, and whether the loss follows it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sismo.records.channels import LOSS_TRAIN, LR
from sismo.records.types import Series
from sismo.signals.kind import names
from sismo.signals.levels import after, before, finite, level, noise
from sismo.signals.schedule import Jump, Schedule
from sismo.signals.types import Detector, Observation, Threshold, absent, present, unknown
from sismo.signals.view import View

_START = Threshold(
    "lr-start-share",
    0.5,
    0.5,
    "share",
    "preflight 2: LR[0] over half of its maximum",
    "First LR over the peak LR from which there was no warmup.",
)
_JUMP = Threshold(
    "lr-jump",
    0.05,
    0.0,
    "share",
    "measured: one-step change over 5 %",
    "One-row change of the LR, off its schedule, that counts as a jump.",
)
_TINY = Threshold("lr-tiny", 7e-7, 1e-6, "1", "chosen: below what fine-tuning and RL recipes use (1e-6 and up)", "A peak LR under this moves nothing that a half-precision weight can hold.")  # fmt: skip
_EARLY_FLOOR = Threshold("lr-floor-early", 0.6, 0.6, "share", "catalogue: floor reached at 1/N of the run", "Share of the run before which an LR that fell to 0 came down too early.")  # fmt: skip
_LATE = 3.0
"""Distances of two rows from the start of the run from which on the first row is not its beginning: one, but for rows left out."""
_ROUNDED_EPOCH = 0.01
"""Hugging Face prints an epoch with two decimals, so that rows that are nearer are told as 0 or 0.01 apart."""
_PIECE = 0.5
"""First LR over the last, in a log that does not begin where its run does, from which on it holds a small part of a rise."""


def _of(rule: Callable[[View, Schedule], Observation]) -> Callable[[View], Observation]:
    def look(view: View) -> Observation:
        schedule = view.schedule(LR)
        return unknown(LR) if schedule is None else rule(view, schedule)

    return look


def _starts_at_beginning(view: View) -> bool:
    """Whether the log holds the start of the run: its first row is within two logging intervals of step 0, and no resume precedes it.

    Rows that were only counted begin at 1 wherever they were cut out: where they tell fractions of an epoch, the first one says it.
    """
    lr = view.series(LR)
    if lr is None or not len(lr) or (_counted(view) and _late_epoch(view)):
        return False
    resumed = any(event.kind == "resume" and event.step <= int(lr.steps[0]) for event in view.events)
    return int(lr.steps[0]) <= 2 * lr.interval and not resumed


def _counted(view: View) -> bool:
    return any(note.code == "guessed-step" for note in view.notes)


def _late_epoch(view: View) -> bool:
    """Whether the first row stands further into its epoch than the rows are apart, several times over."""
    epoch = view.finite("epoch")
    if epoch is None or len(epoch) < 2 or not bool(np.any(epoch.values % 1)):
        return False
    apart = float(epoch.values[-1] - epoch.values[0]) / (len(epoch) - 1)
    return float(epoch.values[0]) > _LATE * max(apart, _ROUNDED_EPOCH)


def _first_step(view: View) -> int:
    lr = view.series(LR)
    return int(lr.steps[0]) if lr is not None and len(lr) else 0


def _all_zero(view: View, schedule: Schedule) -> Observation:
    rows = view.rows(LR)
    if not schedule.all_zero or schedule.rounded:
        return absent(LR)
    return present(_first_step(view), strength=1.0 if rows >= 10 else 0.5, channel=LR, rows=rows)


def _moves_nothing(view: View, schedule: Schedule) -> Observation:
    preference = names(view, "reward", "logps", "kl")
    if (schedule.only_rises and not schedule.constant) or preference or view.objective == "rl":
        return absent(LR)  # warming up, or a recipe that is run at such rates
    tiny = 0 < schedule.peak < view.limit("lr-tiny")
    return present(schedule.peak_step, channel=LR, peak=schedule.peak) if tiny else absent(LR)


def _under_any_recipe(view: View, schedule: Schedule) -> Observation:
    tiny = 0 < schedule.peak < 0.1 * view.limit("lr-tiny")
    return present(schedule.peak_step, channel=LR, peak=schedule.peak) if tiny else absent(LR)


def _never_left_warmup(view: View, schedule: Schedule) -> Observation:
    """The LR only ever rises, over enough rows.

    Not in a piece from the middle of a warmup, which could not do anything else, nor in a log that ends before a warmup that the
    configuration ends within the run.
    """
    warmup, total = view.header.warmup_steps, view.header.total_steps
    a_piece = not _starts_at_beginning(view) and schedule.first > _PIECE * schedule.final
    planned = warmup is not None and total is not None and view.last_step < warmup < total
    if not schedule.only_rises or schedule.constant or view.rows(LR) < 20 or a_piece or planned:
        return absent(LR)
    return present(_first_step(view), view.last_step, channel=LR, first=schedule.first, last=schedule.final)


def _starts_high(view: View, schedule: Schedule) -> Observation:
    if not _starts_at_beginning(view):
        return unknown("the start of the run")
    if view.rows(LR) < 3 or schedule.all_zero:
        return absent(LR)
    share = schedule.first / schedule.peak if schedule.peak > 0 else 0.0
    high = share > view.limit("lr-start-share")
    lr = view.series(LR)
    step = int(lr.steps[0]) if lr is not None else 0
    return present(step, strength=share, channel=LR, first=schedule.first, share=share) if high else absent(LR, first=schedule.first)


def _jump(schedule: Schedule) -> Jump | None:
    """The largest upward jump that is no restart."""
    restarts = set(schedule.restarts)
    ups = [j for j in schedule.jumps if j.kind == "up" and j.step not in restarts and not _restart_like(j, schedule)]
    return max(ups, key=lambda j: j.after / j.before if j.before > 0 else float("inf")) if ups else None


def _restart_like(jump: Jump, schedule: Schedule) -> bool:
    """Back up to the earlier peak from near the floor, as a warm restart does, and never above it."""
    return jump.after <= 1.02 * schedule.first and jump.after > 10 * max(jump.before, 1e-30)


def _jumps_up(view: View, schedule: Schedule) -> Observation:
    jump = _jump(schedule)
    if jump is None or view.rows(LR) < 2:
        return absent(LR)
    if any(event.kind == "resume" and abs(event.step - jump.step) <= 2 * _lr_interval(view) for event in view.events):
        return absent(LR)
    factor = jump.after / jump.before if jump.before > 0 else float("inf")
    return present(jump.step, channel=LR, before=jump.before, after=jump.after, factor=factor) if factor >= 1.5 else absent(LR)


def _lr_interval(view: View) -> float:
    lr = view.series(LR)
    return lr.interval if lr is not None else 1.0


def _first_step_full(view: View) -> Observation:
    """One first row at a high LR, then a warmup from far below it: the first update was made at full LR."""
    lr = view.finite(LR)
    if lr is None:
        return unknown(LR)
    if len(lr) < 3 or not float(lr.values[0]) > 0:
        return absent(LR)
    dropped = float(lr.values[0]) > 20 * float(lr.values[1]) > 0
    rises = float(lr.values[-1]) > float(lr.values[1])
    return present(int(lr.steps[0]), channel=LR, first=float(lr.values[0]), second=float(lr.values[1])) if dropped and rises else absent(LR)


def _loss_follows(view: View, schedule: Schedule) -> Observation:
    """Level of the loss in the rows after the jump over that before it, in units of its noise."""
    jump = _jump(schedule)
    first = _first_step_full(view)
    step = jump.step if jump is not None else first.start
    if step is None:
        return absent(LOSS_TRAIN)
    loss = view.finite(LOSS_TRAIN)
    if loss is None:
        return unknown(LOSS_TRAIN)
    earlier = before(loss, step, 30) if jump is not None else loss.values[:1]
    later = after(loss, step, 60) if jump is not None else loss.values[1:20]
    if any(span.start >= step for span in view.nonfinite(LOSS_TRAIN)):
        return present(step, channel=LOSS_TRAIN, before=level(earlier), after=float("nan"))
    if not earlier.size or later.size < 2:
        return unknown("the loss around step {at}", at=step)
    width = max(1, later.size // 4)
    top = float(np.convolve(later, np.ones(width) / width, mode="valid").max())
    base = level(earlier)
    rough = max(noise(before(loss, step, 100)), 0.005 * abs(base))
    return present(step, channel=LOSS_TRAIN, before=base, after=top) if top > base + 3 * rough else absent(LOSS_TRAIN)


def _rises_late(view: View, schedule: Schedule) -> Observation:
    rise = schedule.rises_after_peak
    if rise is None or schedule.restarts or any(_restart_like(j, schedule) for j in schedule.jumps):
        return absent(LR)
    return present(rise.start, rise.end, channel=LR, low=rise.before, high=rise.after)


def _rises_with_loss(view: View, schedule: Schedule) -> Observation:
    """S4.Q2: whether the LR is higher at the end of the window in which the loss rises than at its start."""
    trend, lr = view.trend(LOSS_TRAIN), view.finite(LR)
    if trend is None or lr is None or not len(lr):
        return unknown("200 steps of loss and LR")
    inside = lr.values[(lr.steps >= trend.start) & (lr.steps <= trend.end)]
    if inside.size < 2:
        return unknown("the LR from step {at}", at=trend.start)
    rise = float(inside[-1]) - float(inside[0])
    share = rise / schedule.peak if schedule.peak > 0 else 0.0
    return present(trend.start, trend.end, channel=LR, first=float(inside[0]), last=float(inside[-1])) if share > 0.02 else absent(LR)


def _floor_early(view: View, schedule: Schedule) -> Observation:
    """LR exactly at its floor of 0 well before the end of what was run or planned."""
    lr = view.series(LR)
    start = schedule.zero_from
    if lr is None or start is None or schedule.all_zero or (schedule.rounded and not _falls_evenly_to(lr, start)):
        return absent(LR)
    end = max(int(lr.steps[-1]), view.header.total_steps or 0)
    rows = int((lr.steps >= start).sum())
    share = start / end if end else 1.0
    if share >= view.limit("lr-floor-early") or rows < 2:
        return absent(LR)
    return present(start, end, channel=LR, share=share, end_step=end)


def _falls_evenly_to(lr: Series, start: int) -> bool:
    """Whether the rows before a zero fall by one amount, and by that amount to the zero: a straight line ends there, whatever was rounded."""
    end = int(np.searchsorted(lr.steps, start))
    last = np.diff(lr.values[max(0, end - 6) : end + 1])
    return last.size >= 5 and bool(np.all(last < 0)) and bool(np.all(np.abs(last / last.mean() - 1) < 0.01))


def _constant(view: View, schedule: Schedule) -> Observation:
    return present(channel=LR, lr=schedule.first) if schedule.constant and view.rows(LR) >= 10 else absent(LR)


def _constant_against_config(view: View, schedule: Schedule) -> Observation:
    if not schedule.constant and _stands_at_peak(view, schedule) is None:
        return absent(LR)
    configured = view.header.schedule
    if configured is None:
        return unknown("the configured schedule")
    meant = configured.lower() in ("constant", "none", "fixed")
    if meant or view.rows(LR) < 10:
        return absent(LR)
    total = view.header.total_steps
    if total is not None and view.header.step_unit == "step" and view.last_step - _first_step(view) < _SEEN * total:
        return unknown("a tenth of the run")
    if schedule.constant:
        return present(_first_step(view), channel=LR, configured=configured, lr=schedule.first)
    start = _stands_at_peak(view, schedule)
    if start is None or not any(word in configured.lower() for word in _MOVES_ON):
        return absent(LR)
    return present(start, channel=LR, configured=configured, lr=schedule.peak)


_SEEN = 0.1
"""Share of a run in which a cosine comes down by 2 %: in less, a rate of three printed digits may stand."""
_MOVES_ON = ("cosine", "linear", "polynomial", "inverse")
"""Words in the names of schedules that come down from the first step after the warmup on."""
_WARM = 0.25
"""Share of the log that a warmup may take for what follows it to say something."""


def _stands_at_peak(view: View, schedule: Schedule) -> int | None:
    """The step from which the LR stays at its peak to the last digit, after a warmup, to the end of a run that was trained to its end."""
    lr = view.finite(LR)
    if lr is None or "summary_train_loss" not in view.header.config or schedule.peak <= 0:
        return None
    below = np.nonzero(lr.values != schedule.peak)[0]
    start = int(below[-1]) + 1 if below.size else 0
    return int(lr.steps[start]) if 0 < start <= _WARM * len(lr) and len(lr) - start >= 20 else None


def _staircase(view: View, schedule: Schedule) -> Observation:
    if view.header.step_unit == "epoch" or not schedule.staircase:
        return absent(LR)
    return present(channel=LR)


def _warmup_too_long(view: View, schedule: Schedule) -> Observation:
    planned, total = view.header.warmup_steps, view.header.total_steps
    if planned is None or total is None:
        return unknown("warmup_steps and total_steps in the configuration")
    return present(_first_step(view), channel=LR, warmup=planned, total=total) if planned >= total > 0 else absent(LR)


def _restarts(view: View, schedule: Schedule) -> Observation:
    if not schedule.restarts:
        return absent(LR)
    return present(schedule.restarts[0], schedule.restarts[-1], channel=LR, count=len(schedule.restarts))


def _high_for_any(view: View, schedule: Schedule) -> Observation:
    """A peak LR of 1 or more: beyond what any adaptive optimizer bears; SGD on recurrent models is the known exception."""
    return present(schedule.peak_step, channel=LR, peak=schedule.peak) if schedule.peak >= 1 else absent(LR)


def _val_explodes_at_peak(view: View) -> Observation:
    """The validation loss climbs 5-fold over several rows while the LR nears its peak, and comes down again when the LR falls."""
    series = view.series("loss/val")
    lr = view.series(LR)
    if series is None or lr is None:
        return unknown("loss/val" if series is None else LR)
    values = np.where(np.isposinf(series.values), np.inf, series.values)
    known = ~np.isnan(values)
    values, steps = values[known], series.steps[known]
    if values.size < 8:
        return absent("loss/val")
    top = int(np.argmax(values))
    clean = finite(series)
    ends = level(clean.values[-max(3, len(clean) // 10) :])
    schedule = view.schedule(LR)
    if schedule is None or top < 2 or top > values.size * 0.6 or not ends > 0:
        return absent("loss/val")
    start = float(values[0])
    tall = float(values[top]) > 5 * max(start, ends)
    climb = int((values[:top] > 2 * start).sum()) >= 2
    rising = abs(schedule.peak_step - int(steps[top])) <= 0.2 * max(1, int(steps[-1]))
    found = present(int(steps[top]), channel="loss/val", peak=float(values[top]), start_value=start, end_value=ends, lr=schedule.peak)
    return found if tall and climb and rising else absent("loss/val")


_R = (LR,)
DETECTORS = (
    Detector("lr-all-zero", _R, _of(_all_zero), "the LR is 0 on all {rows} rows", "the LR is not 0"),
    Detector("lr-under-any-recipe", _R, _of(_under_any_recipe), "the LR is {peak:.3g} at most in this log: such steps cannot be too large", "the LR reaches what a recipe may have", thresholds=(_TINY,)),
    Detector("lr-tiny", _R, _of(_moves_nothing), "the largest LR of the log is {peak:.3g}", "the LR reaches a usual size", thresholds=(_TINY,)),
    Detector("lr-only-rises", _R, _of(_never_left_warmup), "the LR only rises, from {first:.3g} to {last:.3g}, through the whole log", "the LR does not just rise"),
    Detector("lr-starts-high", _R, _of(_starts_high), "the first LR, {first:.3g}, is already {share:.0%} of the peak", "the LR starts low and warms up", "log the run from its first step", (_START,)),
    Detector("lr-jumps-up", _R, _of(_jumps_up), "the LR jumps from {before:.3g} to {after:.3g} ({factor:.3g}×) at step {start}", "no upward jump of the LR off its schedule", thresholds=(_JUMP,)),
    Detector("lr-first-step-full", _R, _first_step_full, "the first step runs at LR {first:.3g}, the next at {second:.3g}: warmup took over one step late", "the first step is part of the warmup"),
    Detector("loss-follows-lr-jump", (*_R, LOSS_TRAIN), _of(_loss_follows), "the loss goes from {before:.4g} to {after:.4g} after it", "the loss does not rise with a jump of the LR"),
    Detector("lr-rises-late", _R, _of(_rises_late), "the LR rises from {low:.3g} to {high:.3g} between steps {start} and {end}, where it should fall", "the LR does not rise after its peak"),
    Detector("lr-rises-with-loss", (*_R, LOSS_TRAIN), _of(_rises_with_loss), "the LR rises from {first:.3g} to {last:.3g} in that window", "the LR does not rise in that window"),
    Detector("lr-floor-early", _R, _of(_floor_early), "the LR is down to 0 at step {start}, {share:.0%} of the way to {end_step}", "the LR does not reach 0 early", thresholds=(_EARLY_FLOOR,)),
    Detector("lr-constant", _R, _of(_constant), "the LR is {lr:.3g} on every row", "the LR is not constant"),
    Detector("lr-constant-against-config", _R, _of(_constant_against_config), "the LR stays at {lr:.3g} although the schedule is {configured}", "no configured schedule stands still", "put the configured schedule into manifest.json"),
    Detector("lr-staircase", _R, _of(_staircase), "the LR falls in a staircase of equal steps", "the LR is no staircase"),
    Detector("warmup-longer-than-run", ("header",), _of(_warmup_too_long), "warmup takes {warmup} steps, the whole run {total}", "warmup ends within the run", "put warmup_steps and total_steps into manifest.json"),
    Detector("lr-restarts", _R, _of(_restarts), "the LR restarts {count} {count:time|times} at an even period: by design", "no periodic restarts"),
    Detector("lr-over-one", _R, _of(_high_for_any), "the LR reaches {peak:.3g}", "the LR stays under 1"),
    Detector("val-explodes-at-lr-peak", ("loss/val", *_R), _val_explodes_at_peak, "the validation loss climbs from {start_value:.3g} to {peak:.3g} at step {start}, where the LR peaks at {lr:.3g}, and ends at {end_value:.3g}", "the validation loss does not explode near the peak of the LR"),
)  # fmt: skip
