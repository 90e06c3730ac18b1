"""Whether the steps of the optimizer are of a size that training bears: too large, undone by decay, or rounded away."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import cast

import numpy as np

from sismo.records.channels import GRAD_CARRIED, LOSS_TRAIN, LR
from sismo.records.types import Series
from sismo.signals.levels import failure, finite, level, part_ends, wander
from sismo.signals.types import Detector, Observation, State, Threshold, absent, present, unknown
from sismo.signals.view import View

_FRESH = 10
"""Steps in which Adam's moments are still young: they are large in many a sound run, and all of them are seen where every step is."""
_TENTH = Threshold("update-ratio-huge", 0.07, 0.07, "1", "measured: the median group stays under 0.05 even at three times the usual LR", "Update-to-weight ratio that no training bears.")  # fmt: skip
_HALF_LIFE = Threshold("decay-half-life", 100, 100, "step", "chosen: usual recipes (LR 1e-3, decay 0.1) halve a weight in some 7,000 steps", "Steps in which decay alone halves a weight, under which nothing can be learnt.")  # fmt: skip
_LOST = Threshold("update-rounded-away", 10, 10, "×", "measured: 20 and more in bf16 weights, under 1.5 in fp32", "Fall of the update against the LR from which it is rounded to nothing.")  # fmt: skip
_UPDATES = "update_ratio"
_REPLACED = 1.0
"""Update-to-weight ratio at which one step replaces a weight."""
_PARTS = 60
"""The loss is judged by the medians of so many parts of the log."""
_TOP = 3
"""Parts that the LR has to be near its peak for."""
_LOOKS = 15
"""Looks that a fall of the updates is told by."""
_EARLY = 0.5
"""Share of the log in which the LR has to peak, so that there is an after."""
_UNUSUAL, _UNUSUAL_SGD = 1.0, 0.1
"""Recipes have decays from 1e-6 to 0.5, those for SGD under 0.01: there momentum multiplies the decay as it does the gradient."""
_DECOUPLED = ("adamw", "sgd", "lion", "muon", "nadamw")
"""Optimizers whose decay takes LR × decay off each weight at every step."""


def _best_before_peak(view: View) -> Observation:
    """While the LR still rose the loss was lower than it is about the peak of the LR, by more than 5 % and more than its noise.

    About the peak is from nine tenths of it on the way up to eight tenths of it on the way down. What comes in later has other causes, so
    that the loss has to be up from the first rows of that time on.
    """
    loss, lr, schedule = view.finite(LOSS_TRAIN), view.finite(LR), view.schedule()
    if loss is None or lr is None or schedule is None:
        return unknown(LOSS_TRAIN if loss is None else LR)
    unshaped = schedule.constant or schedule.starts_high or not schedule.peak > 0
    if len(loss) < 2 * _PARTS or unshaped or any(jump.kind == "up" for jump in schedule.jumps):
        return absent(LR)
    parts = view.parts(LOSS_TRAIN, _PARTS)
    ends = loss.steps[part_ends(len(loss), _PARTS)]
    high = int(lr.steps[int(np.argmax(lr.values >= 0.9 * schedule.peak))])
    low = int(lr.steps[np.flatnonzero(lr.values >= 0.8 * schedule.peak)[-1]])
    before, after = (int(np.searchsorted(ends, step)) for step in (high, low))
    if before < 1 or before > _EARLY * _PARTS or after - before < _TOP:
        return absent(LR)
    best, top = int(np.argmin(parts[:before])), parts[before:after]
    rough = max(view.noise(LOSS_TRAIN) / (len(loss) / _PARTS) ** 0.5, wander(parts))
    room = max(0.05 * abs(float(parts[best])), 6 * rough)
    lost = min(float(top[:_TOP].min()), level(top)) - float(parts[best])
    step = int(ends[best])
    found = present(step, channel=LOSS_TRAIN, best=float(parts[best]), later=level(top), lr=float(np.interp(step, lr.steps, lr.values)))
    return found if lost > room else absent(LR)


def _carried(view: View) -> Observation:
    """At nearly every look after the first, the step began on the gradient of the one before."""
    series = view.finite(GRAD_CARRIED)
    if series is None or len(series) < 4:
        return unknown(GRAD_CARRIED)
    count = int(np.count_nonzero(series.values[1:]))
    enough = count >= 0.9 * (len(series) - 1)
    return present(int(series.steps[1]), channel=GRAD_CARRIED, count=count, rows=len(series) - 1) if enough else absent(GRAD_CARRIED)


def _lost_uncarried(view: View) -> Observation:
    """The loss is lost for good, and no step was seen to begin on the gradient of the one before."""
    loss = view.series(LOSS_TRAIN)
    at = failure(loss.values) if loss is not None else None
    if loss is None or at is None or bool(np.isfinite(loss.values[at:]).any()) or _carried(view).state is State.PRESENT:
        return unknown(LOSS_TRAIN) if loss is None else absent(LOSS_TRAIN)
    return present(int(loss.steps[at]), channel=LOSS_TRAIN)


def _cleared(view: View) -> Observation:
    """At nearly every look after the first, the step began on a gradient of 0: nothing piles up, however the norm climbs."""
    series = view.finite(GRAD_CARRIED)
    if series is None or len(series) < 4:
        return unknown(GRAD_CARRIED)
    count = int(np.count_nonzero(series.values[1:] == 0.0))
    enough = count >= 0.9 * (len(series) - 1)
    return present(int(series.steps[1]), channel=GRAD_CARRIED, count=count, rows=len(series) - 1) if enough else absent(GRAD_CARRIED)


def _huge(view: View) -> Observation:
    """At two looks or more after the first steps the updates of half of the groups are some tenth of their weights.

    With fewer than three looks, one is enough in which they are as large as the weights.
    """
    found = [series for series in map(finite, view.family(_UPDATES)) if len(series)]
    watched = [series for series in found if len(series) >= 3]
    bound, least = (view.limit("update-ratio-huge"), 2) if watched else (_REPLACED, 1)
    found = watched or found
    if not found:
        return unknown(_UPDATES)
    rows = min(len(series) for series in found)
    usual = np.median([series.values[:rows] for series in found], axis=0)
    settled = found[0].steps[:rows] >= int(found[0].steps[0]) + (_FRESH if watched else 0)
    past = np.flatnonzero((usual > bound) & settled)
    if past.size < least:
        return absent(_UPDATES) if watched else unknown(_UPDATES)
    return present(int(found[0].steps[past[0]]), channel=found[0].channel, ratio=float(usual.max()), count=int(past.size))


def _decay(view: View) -> Observation:
    """Steps in which the configured decay halves a weight that gets no gradient, at the highest LR of the log.

    Only of a decay that no recipe has: with a usual one the LR is to blame.
    """
    groups, names, schedule = view.fact("groups"), view.fact("optimizers"), view.schedule()
    if schedule is None:
        return unknown(LR)
    if not isinstance(groups, list) or not isinstance(names, list):
        return unknown("weight_decay in manifest.json")
    if not all(str(name).lower() in _DECOUPLED for name in cast("list[object]", names)):
        return absent()
    each = cast("list[Mapping[str, object]]", groups)
    decay, momentum = (
        max((float(one) for group in each if isinstance(one := group.get(key), (int, float))), default=0.0)
        for key in ("weight_decay", "momentum")
    )
    sgd = all(str(name).lower() == "sgd" for name in cast("list[object]", names))
    share = decay * schedule.peak / (max(1 - momentum, 0.01) if sgd else 1.0)
    half = math.log(2) / -math.log1p(-share) if 0 < share < 1 else (math.inf if share <= 0 else 0.0)
    strong = half < view.limit("decay-half-life") and decay >= (_UNUSUAL_SGD if sgd else _UNUSUAL)
    return present(schedule.peak_step, decay=decay, half=half) if strong else absent(decay=decay)


def _rounded_away(view: View) -> Observation:
    """With weights in half precision, the updates of most groups fall ten times further than the LR does."""
    dtype = view.fact("weights_dtype")
    if dtype is None:
        return unknown("the dtype of the weights")
    lr = view.finite(LR)
    found = [series for series in map(finite, view.family(_UPDATES)) if len(series) >= _LOOKS]
    if dtype not in ("bf16", "fp16") or lr is None or not found:
        return absent(dtype=dtype) if lr is not None and found else unknown(_UPDATES)
    falls = [_fall(series, lr) for series in found]
    lost = [series for series, fall in zip(found, falls, strict=True) if fall > view.limit("update-rounded-away")]
    if 2 * len(lost) < len(found):
        return absent(_UPDATES, dtype=dtype)
    return present(int(lost[0].steps[len(lost[0]) // 2]), channel=lost[0].channel, dtype=dtype, count=len(lost), total=len(found))


def _fall(series: Series, lr: Series) -> float:
    """Update per LR about the middle of the looks over that of the last ones: by then weights have grown to their size."""
    rates = np.interp(series.steps, lr.steps, lr.values)
    usable = rates > 0
    sizes = series.values[usable] / rates[usable]
    if sizes.size < _LOOKS:
        return 0.0
    middle, last = level(sizes[2 * sizes.size // 5 : 3 * sizes.size // 5]), level(sizes[-max(3, sizes.size // 20) :])
    return middle / last if last > 0 else (math.inf if middle > 0 else 0.0)


_RECORD = "record the run with sismo.Recorder"
DETECTORS = (
    Detector("best-before-lr-peak", (LOSS_TRAIN, LR), _best_before_peak, "the loss was at {best:.4g} at step {start}, while the LR still rose ({lr:.3g}), and is at {later:.4g} about the peak of the LR", "the loss is lower about the LR's peak than before"),
    Detector("gradients-carried-over", (GRAD_CARRIED,), _carried, "{count} of {rows} {rows:step|steps} began with the gradient of the step before still in place", "gradients are cleared before each step", _RECORD),
    Detector("lost-without-carried-gradients", (LOSS_TRAIN, GRAD_CARRIED), _lost_uncarried, "the loss is lost from step {start} on, and no step was seen to begin with the gradient of the one before", "the loss is not lost, or gradients were carried over"),
    Detector("gradients-cleared", (GRAD_CARRIED,), _cleared, "{count} of {rows} {rows:step|steps} began with the gradient cleared", "steps begin with a gradient in place", _RECORD),
    Detector("updates-of-a-tenth", (_UPDATES,), _huge, "at {count} {count:look|looks} from step {start} on, the update is some tenth of the weights or more in half of the groups (up to {ratio:.2g})", "updates are under a tenth of the weights", _RECORD, (_TENTH,)),
    Detector("decay-outruns-learning", ("header", LR), _decay, "a decay of {decay:.3g} at the peak LR halves every weight in {half:.2g} steps", "decay takes thousands of steps to halve a weight", _RECORD, (_HALF_LIFE,)),
    Detector("updates-rounded-away", (_UPDATES, LR, "header"), _rounded_away, "the weights are {dtype}, and the updates of {count} of {total} groups have fallen over ten times further than the LR", "updates keep up with the LR (weights in {dtype})", _RECORD, (_LOST,)),
)  # fmt: skip
