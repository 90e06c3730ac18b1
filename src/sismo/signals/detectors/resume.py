"""What happens at the seam where a run was resumed."""

from __future__ import annotations

from typing import cast

import numpy as np

from sismo.records.channels import LOSS_TRAIN, LR
from sismo.records.types import Event
from sismo.signals.levels import after, before, finite, level, noise
from sismo.signals.rolling import median_of_three, robust_scale
from sismo.signals.types import Detector, Observation, absent, present, unknown
from sismo.signals.view import View

_PRINTS = "batch/fingerprint"
_RMS = "adam_rms"
_EXACT = 5e-4
"""Distance from 1 that the numerics of a first step explain; a step in mid-run comes as near in some 3 of 1,000."""
_BATCHES = 10
"""Batches on either side of the seam that are compared."""
_MOST = 0.8
"""Share of them from which they are the same part of the data: a batch may be the same by chance, or half of a window lies before the seam."""


def _seams(view: View) -> list[Event]:
    return [event for event in view.events if event.kind == "resume"]


def _resumed(view: View) -> Observation:
    seams = _seams(view)
    return present(seams[0].step, seams[-1].step, count=len(seams)) if seams else absent()


def _across(view: View, event: Event) -> tuple[float, float, float, float, float] | None:
    """(level before, level of the first rows after, highest level of the next rows, lowest row after, noise) of the loss across a seam.

    The noise is that of levels of three rows: what they differ by among the 100 rows before, or a row does from the next where it is more.
    """
    loss = view.finite(LOSS_TRAIN)
    if loss is None:
        return None
    later, past = after(loss, event.step, 200), before(loss, event.step, 100)
    if not past.size:
        past = _replaced(event)
    if not past.size or not later.size:
        return None
    base = level(past[-20:])
    levels, usual = _threes(later[: max(5, later.size // 4)]), _threes(past)
    spread = robust_scale(usual, 0.0) if usual.size >= 10 else 0.0
    rough = max(noise(past), spread, 0.01 * abs(base))
    return base, float(levels[0]), float(levels.max()), float(min(later)), rough


def _replaced(event: Event) -> np.ndarray:
    """The losses that stood in the log before the resume, at steps that came again after it; none of fewer than three."""
    values = event.data.get("replaced")
    kept = cast("list[float]", values) if isinstance(values, list) else []
    return np.array(kept, dtype=np.float64) if len(kept) >= 3 else np.empty(0)


def _threes(values: np.ndarray) -> np.ndarray:
    """The median of every three rows running; the rows themselves where there are fewer."""
    return median_of_three(values[:-2], values[1:-1], values[2:]) if values.size >= 3 else values


def _loss_jumps(view: View) -> Observation:
    """The very first rows after the seam are above the level before it."""
    return _jump(view, immediate=True)


def _loss_climbs(view: View) -> Observation:
    """The loss is seamless at first and climbs in the rows after, as it does when only the moments are gone."""
    return _jump(view, immediate=False)


def _jump(view: View, *, immediate: bool) -> Observation:
    seams = _seams(view)
    if view.series(LOSS_TRAIN) is None:
        return unknown(LOSS_TRAIN)
    for event in seams:
        found = _across(view, event)
        if found is None:
            continue
        base, first, top, _, rough = found
        at_once = first > base + 4 * rough and first > 1.05 * base
        up = top > base + 4 * rough and top > 1.05 * base
        if up and at_once is immediate:
            return present(event.step, channel=LOSS_TRAIN, before=base, after=max(first, top), first=first)
    return absent(LOSS_TRAIN)


def _heals(view: View) -> Observation:
    """After a jump at the seam the loss comes back near the level before it."""
    loss = view.finite(LOSS_TRAIN)
    if loss is None:
        return unknown(LOSS_TRAIN)
    for event in _seams(view):
        found = _across(view, event)
        if found is None or found[2] <= found[0] + 4 * found[4]:
            continue
        base, _, top, lowest, _ = found
        if lowest < base + 0.25 * (top - base):
            return present(event.step, channel=LOSS_TRAIN, before=base, lowest=lowest)
    return absent(LOSS_TRAIN)


def _falls_too_low(view: View) -> Observation:
    """Within the rows after the seam the loss is 10 % or more under its level before, faster than it fell until then."""
    loss = view.finite(LOSS_TRAIN)
    if loss is None:
        return unknown(LOSS_TRAIN)
    for event in _seams(view):
        earlier, later = before(loss, event.step, 200), after(loss, event.step, 200)
        if not earlier.size or later.size < 2:
            continue
        base = level(earlier[-20:])
        fell = base - float(later[-1] if later.size < 5 else level(later[-max(3, later.size // 5) :]))
        rate_before = (level(earlier[: max(1, earlier.size // 5)]) - base) / max(1, earlier.size) if earlier.size >= 5 else 0.0
        rough = max(noise(earlier), 0.01 * abs(base))
        if fell > max(0.1 * abs(base), 5 * rough) and fell / later.size > 3 * rate_before:
            return present(event.step, channel=LOSS_TRAIN, before=base, after=base - fell)
    return absent(LOSS_TRAIN)


def _batches_again(view: View) -> Observation:
    """Most of the first batches after the seam were served before it, as none of the last ones before it was: no order that is gone through again."""
    prints = view.finite(_PRINTS)
    if prints is None:
        return unknown(_PRINTS)
    for event in _seams(view):
        place = int(np.searchsorted(prints.steps, event.step))
        earlier, last, later = (
            prints.values[: max(0, place - _BATCHES)],
            prints.values[max(0, place - _BATCHES) : place],
            prints.values[place:],
        )
        if earlier.size < _BATCHES or later.size < _BATCHES:
            continue
        again = float(np.mean(np.isin(later[:_BATCHES], prints.values[:place])))
        if again > _MOST and not np.isin(last, earlier).any():
            return present(event.step, channel=prints.channel, share=again, count=_BATCHES)
    return absent(prints.channel)


def _moments_again(view: View) -> Observation:
    """In the first step after the seam Adam's RMS is that of a first step: each entry of the gradient over its own square, 1 or 0.

    So no group is over 1, and one at least is exactly there.
    """
    found = [series for series in (finite(raw) for raw in view.family(_RMS)) if len(series)]
    if not found:
        return unknown(_RMS)
    for event in _seams(view):
        first = [value for value in (series.at(event.step) for series in found) if value is not None]
        if first and abs(max(first) - 1) <= _EXACT and event.step > int(found[0].steps[0]):
            return present(event.step, channel=_RMS, value=max(first), count=len(first))
    return absent(_RMS)


def _lr_starts_over(view: View) -> Observation:
    """After the seam the LR is under half of what it was and climbs (a second warmup), or back up at its top (a schedule without one)."""
    lr = view.finite(LR)
    if lr is None:
        return unknown(LR)
    for event in _seams(view):
        earlier, later = before(lr, event.step, len(lr)), after(lr, event.step, 50)
        if not earlier.size or later.size < 2:
            continue
        last, first = float(earlier[-1]), float(later[0])
        warms_up = first < 0.5 * last and float(later.max()) > 2 * first
        top = first > 1.2 * last and first >= 0.9 * float(earlier.max())
        if warms_up or top:
            return present(event.step, channel=LR, before=last, after=first)
    return absent(LR)


def _summary_too_low(view: View) -> Observation:
    """The summary's mean training loss lies under 95 % of the logged losses, where no mean of them can be: a part was averaged over the whole."""
    summary = view.header.config.get("summary_train_loss")
    loss = view.finite(LOSS_TRAIN)
    if not isinstance(summary, (int, float)) or loss is None or len(loss) < 5:
        return absent()
    mean, low = float(loss.values.mean()), float(np.quantile(loss.values, 0.05))
    found = 0 < summary < min(low, 0.8 * mean)
    return present(int(loss.steps[-1]), channel=LOSS_TRAIN, summary=float(summary), mean=mean) if found else absent()


_R = (LOSS_TRAIN, "events.resume")
_RECORD = "record the run with sismo.Recorder"
DETECTORS = (
    Detector("resumed", ("events.resume",), _resumed, "the run was resumed {count} {count:time|times}, first at step {start}", "the run was not resumed"),
    Detector("loss-jumps-at-resume", _R, _loss_jumps, "at the resume (step {start}) the loss goes from {before:.4g} to {after:.4g} at once", "the loss does not jump at a resume"),
    Detector("loss-climbs-after-resume", _R, _loss_climbs, "the loss is seamless at the resume (step {start}, {first:.4g}) and climbs to {after:.4g} after it", "the loss does not climb after a resume"),
    Detector("loss-heals-after-resume", _R, _heals, "it comes back down to {lowest:.4g}", "no jump at a resume that heals"),
    Detector("loss-too-low-after-resume", _R, _falls_too_low, "after the resume at step {start} the loss falls from {before:.4g} to {after:.4g}, faster than it ever did", "the loss does not fall faster after a resume"),
    Detector("batches-again-after-resume", ("batch", "events.resume"), _batches_again, "{share:.0%} of the first {count} batches after the resume at step {start} were served before it", "the batches after a resume are new", _RECORD),
    Detector("moments-start-over-at-resume", (_RMS, "events.resume"), _moments_again, "in the first step after the resume at step {start} Adam's second moments hold nothing but its own gradient, in all {count} groups", "Adam's moments hold more than the step after a resume", _RECORD),
    Detector("lr-starts-over-at-resume", (LR, "events.resume"), _lr_starts_over, "at the resume (step {start}) the LR goes from {before:.3g} back to {after:.3g}, where its schedule began", "the LR does not start over at a resume"),
    Detector("summary-loss-too-low", ("header.config",), _summary_too_low, "the summary's train_loss is {summary:.4g}, the logged losses average {mean:.4g}", "the summary agrees with the rows"),
)  # fmt: skip
