"""Loss spikes: whether there is one, whether it heals, and what else moved in the same step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sismo.records.channels import GRAD_NORM_PRE, LOSS_TRAIN, LOSS_VAL, LR
from sismo.signals.levels import after, before, level, noise
from sismo.signals.spikes import Spike
from sismo.signals.trend import mann_kendall
from sismo.signals.types import Detector, Observation, State, Threshold, absent, present, unknown
from sismo.signals.view import View

_WINDOW = Threshold("spike-window", 100, 100, "row", "stability tree, S2.Q1", "Rows of baseline before a step that may be a spike.")
_SIGMA = Threshold(
    "spike-sigma", 3, 3, "σ", "stability tree, S2.Q1", "A loss this far above the mean of its window is nominated as a spike."
)
_CONFIRM = Threshold("spike-confirm-z", 5, 0, "MAD σ", "measured: 3σ alone fires 0.84 times per 1,000 healthy steps, MAD z > 5 never", "Robust deviation that confirms a nominated spike; 0 takes every nomination.")  # fmt: skip
_RECOVER = Threshold(
    "spike-recover-sigma", 0.5, 0.5, "σ", "stability tree, S2.Q2", "A spike has recovered when the loss is back within this of its mean."
)
_RECOVER_STEPS = Threshold("spike-recover-steps", 50, 50, "step", "stability tree, S2.Q2", "Steps that a spike has to recover in.")
_PROMINENCE = Threshold("spike-prominence", 2, 0, "×", "heavy-tailed healthy losses have neighbours of the same height", "How far a spike must stand above the other excursions of its run.")  # fmt: skip
_NORM = Threshold("spike-norm-ratio", 3, 30, "×", "stability tree says 30; measured: a realistic tail batch gives 3.1 to 3.8, healthy at most 2.4", "Gradient norm at a spike over its moving mean.")  # fmt: skip
_LR_JUMP = Threshold("lr-jump", 0.05, 0.0, "share", "measured: one-step change over 5 %", "One-row change of the LR, off its schedule, that counts as a jump.")  # fmt: skip
_AGAIN = 6
"""Climbs in a window from which on a height is nothing new; of spikes that crowd before a divergence there are fewer."""
_PROMPT, _AS_MUCH = 20, 0.8
"""Rows after a jump within which an evaluation tells of the model that made it; share of the rise of the loss that is as much."""
_OFTEN = 3
"""Other spikes from which on they say what the run does by itself."""
_BY_CHANCE = 2.6
"""Standard normal score that chance alone passes in 1 of 200 runs."""
_APART = 3.0
"""Height of the highest of many spikes over the third highest that sets it apart: 1 in 14 gets there where tails fall with the cube."""
_SPIKE_LIMITS = (_WINDOW, _SIGMA, _CONFIRM, _RECOVER, _RECOVER_STEPS, _PROMINENCE)


def _standing(view: View) -> list[Spike]:
    """The spikes that stand above the ordinary excursions of this run.

    A persistent one stands by its length, one of 25 σ over two rows or more by that: independent noise does not do it twice running.
    A stretch that creeps up instead of jumping is no spike: that is S4's question.
    """
    least = view.limit("spike-prominence")
    found: list[Spike] = []
    for spike in view.spikes(LOSS_TRAIN):
        lasts = spike.rows >= 5 and spike.recovered is False and (spike.prominence >= 1.5 or _unbroken(view, spike))
        towers = spike.z >= 25 and spike.rows >= 2 and spike.prominence >= 0.6 * least
        if (spike.prominence >= least or lasts or towers) and not _creeps(view, spike) and not _usual(view, spike):
            found.append(spike)
    return found


def _usual(view: View, spike: Spike) -> bool:
    """Whether the loss was up to half its height again and again in the window before it: a loss of two levels, as a rare class makes."""
    loss = view.finite(LOSS_TRAIN)
    if loss is None:
        return False
    high = before(loss, spike.start, int(view.limit("spike-window"))) > spike.before + 0.5 * (spike.peak - spike.before)
    return int(np.count_nonzero(high[1:] & ~high[:-1])) >= _AGAIN


def _unbroken(view: View, spike: Spike) -> bool:
    """Whether nine in ten of the rows from its start to its end are flagged."""
    loss = view.finite(LOSS_TRAIN)
    inside = 0 if loss is None else int(np.count_nonzero((loss.steps >= spike.start) & (loss.steps <= spike.end)))
    return spike.rows >= 0.9 * inside


def _creeps(view: View, spike: Spike) -> bool:
    """Whether its first quarter is under half of the height that its last quarter has, and it never came back.

    Not where its first row towers over all that follows: there one step threw the weights, and the loss drifts away after it.
    """
    loss = view.finite(LOSS_TRAIN)
    if loss is None or spike.recovered or spike.rows < 5:
        return False
    inside = loss.values[(loss.steps >= spike.start) & (loss.steps <= spike.end)]
    quarter = max(2, inside.size // 4)
    first, last = level(inside[:quarter]) - spike.before, level(inside[-quarter:]) - spike.before
    return first < last / 2 and float(inside[0]) - spike.before < 2 * last


def _drifts(view: View) -> Observation:
    """One row towers, the next is nearly back, and then the loss drifts up for good: that one step threw the weights or the moments."""
    spike = _judged(view)
    if isinstance(spike, Observation):
        return spike
    loss = view.finite(LOSS_TRAIN)
    if loss is None or spike.recovered is not False or spike.rows < 5:
        return absent(LOSS_TRAIN)
    inside = loss.values[(loss.steps >= spike.start) & (loss.steps <= spike.end)] - spike.before
    later = level(inside[-max(2, inside.size // 4) :])
    thrown = float(inside[0]) > 2 * later and float(inside[1]) < later / 2
    return (
        present(spike.start, spike.end, channel=LOSS_TRAIN, now=later + spike.before, **_numbers(spike)) if thrown else absent(LOSS_TRAIN)
    )


def _worst(spikes: list[Spike]) -> Spike:
    """A persistent one before any that recovered, then the highest."""
    return max(spikes, key=lambda s: (s.recovered is False, s.z))


def _numbers(spike: Spike) -> dict[str, Any]:
    return {"peak": spike.peak, "before": spike.before, "z": spike.z, "at": spike.peak_step}


def _spike(view: View) -> Observation:
    if view.rows(LOSS_TRAIN) < view.limit("min-rows"):
        return unknown("more rows of loss/train")
    spikes = _standing(view)
    if not spikes:
        return absent(LOSS_TRAIN, excursions=len(view.spikes(LOSS_TRAIN)))
    worst = _worst(spikes)
    return present(worst.start, worst.end, channel=LOSS_TRAIN, count=len(spikes), **_numbers(worst))


def _judged(view: View) -> Spike | Observation:
    """The spike that matters most, or why there is none."""
    if view.rows(LOSS_TRAIN) < view.limit("min-rows"):
        return unknown("more rows of loss/train")
    spikes = _standing(view)
    return _worst(spikes) if spikes else absent(LOSS_TRAIN)


def _recovered(view: View) -> Observation:
    spike = _judged(view)
    if isinstance(spike, Observation):
        return spike
    back = _back_late(view, spike)
    if spike.recovered is False and back is not None:
        return present(spike.start, spike.end, channel=LOSS_TRAIN, back=back, **_numbers(spike))
    if spike.recovered is None:
        return unknown("the {steps} steps after the spike at step {at}", steps=int(view.limit("spike-recover-steps")), at=spike.start)
    if not spike.recovered:
        return absent(LOSS_TRAIN)
    return present(spike.start, spike.end, channel=LOSS_TRAIN, back=spike.recovered_at, **_numbers(spike))


def _back_late(view: View, spike: Spike) -> int | None:
    """The step by which a spike that took longer than it should is back all the same; None where it is not."""
    loss = view.finite(LOSS_TRAIN)
    if loss is None or spike.recovered is not False or not view.limit("spike-confirm-z"):  # to the letter, 50 steps are 50 steps
        return None
    later = loss.values[loss.steps > spike.peak_step]
    steps = loss.steps[loss.steps > spike.peak_step]
    for at in range(later.size - 4):
        if level(later[at : at + 5]) <= spike.before + spike.scale:
            return int(steps[at])
    return None


def _persistent(view: View) -> Observation:
    """Not recovered, and the level at the end of what follows is still above the one before by more than its noise."""
    spike = _judged(view)
    if isinstance(spike, Observation):
        return spike
    loss = view.finite(LOSS_TRAIN)
    if loss is None or spike.recovered or _back_late(view, spike) is not None:
        return absent(LOSS_TRAIN)
    later = after(loss, spike.start, 200)
    if spike.recovered is None:
        # The log ends before the spike could heal, as it does when a run is stopped because of it.
        now = level(later[-3:])
        high = later.size >= 3 and now > spike.before + 8 * spike.scale and now > 1.3 * spike.before > 0
        found = present(spike.start, int(loss.steps[-1]), strength=0.8, channel=LOSS_TRAIN, now=now, **_numbers(spike))
        return found if high else absent(LOSS_TRAIN)
    now = level(later[len(later) // 2 :])
    if not now > spike.before + 3 * max(spike.scale, noise(later) / max(1.0, len(later) ** 0.5)):
        return absent(LOSS_TRAIN)
    return present(spike.start, int(loss.steps[-1]), channel=LOSS_TRAIN, now=now, **_numbers(spike))


def _val_unmoved(view: View) -> Observation:
    """After a jump that stays, or heals late, the evaluations are not above the last one before it: other data, not a worse model."""
    return _val_at(view, lambda earlier, later: float(later.max()) <= 1.02 * earlier)


def _val_jumps(view: View) -> Observation:
    """After a jump that stays, the evaluations are well above the last one before it: a worse model, not other data.

    A late one counts where it rose as the loss did: by then even a good model has learnt bad data."""
    found = _val_at(view, lambda earlier, later: float(later.min()) > 1.05 * earlier)
    loss, val, start = view.finite(LOSS_TRAIN), view.finite(LOSS_VAL), found.start
    if start is None or loss is None or val is None:
        return found
    first = val.steps[np.searchsorted(val.steps, start)]
    soon = np.diff(np.searchsorted(loss.steps, [start, first])) <= _PROMPT
    climbed = level(after(loss, int(first), _PROMPT)) - level(before(loss, start, _PROMPT))
    return found if soon or after(val, start, 1)[0] - before(val, start, 1)[0] >= _AS_MUCH * climbed else unknown(LOSS_VAL)


def _val_at(view: View, fits: Callable[[float, np.ndarray], bool]) -> Observation:
    """The last evaluation before a jump that stays against the next two."""
    spike = _judged(view)
    if isinstance(spike, Observation):
        return spike
    if spike.recovered:
        return absent(LOSS_VAL)
    val = view.finite(LOSS_VAL)
    if val is None:
        return unknown(LOSS_VAL)
    earlier, later = before(val, spike.start, 1), after(val, spike.start, 2)
    if not earlier.size or later.size < 2:
        return unknown(LOSS_VAL)
    found = present(spike.start, channel=LOSS_VAL, first=float(earlier[-1]), last=float(later[-1]))
    return found if fits(float(earlier[-1]), later) else absent(LOSS_VAL)


def _large(view: View) -> Observation:
    """Far outside any tail, and soon over: three times what the noise of this run reaches, over several rows; or six times, in one.

    Not where the gradient norm is logged and did not move: an update has not seen it. And not where others came near it: then the run does
    that now and then.
    """
    spike = _judged(view)
    if isinstance(spike, Observation):
        return spike
    if _norm_at(view).state is State.ABSENT or _back_late(view, spike) is not None:
        return absent(LOSS_TRAIN)
    others = sorted((other.z for other in view.spikes(LOSS_TRAIN) if other.start != spike.start), reverse=True)
    alone = len(others) < _OFTEN or spike.z >= _APART * others[1]
    large = alone and (spike.prominence >= 6 or (spike.prominence >= 3 and spike.z >= 12 and spike.rows >= 2))
    return present(spike.start, spike.end, channel=LOSS_TRAIN, **_numbers(spike)) if large else absent(LOSS_TRAIN)


def _norm_at(view: View) -> Observation:
    """Gradient norm in the rows of the spike over its level before it."""
    spike = _judged(view)
    if isinstance(spike, Observation):
        return spike
    norm = view.finite(GRAD_NORM_PRE)
    if norm is None:
        return unknown(GRAD_NORM_PRE)
    base = level(before(norm, spike.start, 100))
    around = norm.values[(norm.steps >= spike.start - norm.interval) & (norm.steps <= spike.end)]
    if not around.size or not base > 0:
        return unknown("the gradient norm at step {at}", at=spike.start)
    ratio = float(around.max()) / base
    found = present(spike.start, spike.end, channel=GRAD_NORM_PRE, ratio=ratio, norm=float(around.max()), base=base)
    return found if ratio >= view.limit("spike-norm-ratio") else absent(GRAD_NORM_PRE, ratio=ratio)


def _norm_stays_up(view: View) -> Observation:
    """The norm keeps a higher level after the spike: the data or the targets changed, not one batch."""
    spike = _judged(view)
    if isinstance(spike, Observation):
        return spike
    norm = view.finite(GRAD_NORM_PRE)
    if norm is None:
        return unknown(GRAD_NORM_PRE)
    base, now = level(before(norm, spike.start, 100)), level(after(norm, spike.end, 100)[5:])
    if not (base > 0 and now > 0):
        return unknown("the gradient norm around step {at}", at=spike.start)
    return present(spike.start, channel=GRAD_NORM_PRE, ratio=now / base) if now / base >= 3 else absent(GRAD_NORM_PRE)


def _lr_at(view: View) -> Observation:
    spike = _judged(view)
    if isinstance(spike, Observation):
        return spike
    schedule = view.schedule(LR)
    if schedule is None:
        return unknown(LR)
    reach = 3 * max(1.0, _interval(view))
    for jump in schedule.jumps:
        if jump.kind == "up" and spike.start - reach <= jump.step <= spike.end:
            return present(jump.step, channel=LR, before=jump.before, after=jump.after)
    return absent(LR)


def _interval(view: View) -> float:
    loss = view.series(LOSS_TRAIN)
    return loss.interval if loss is not None else 1.0


def _accelerate(view: View) -> Observation:
    """At least five spikes that crowd towards the end of the log and do not get lower.

    Spikes that come at random are spread evenly, and the mean of n even places has a deviation of 1 / sqrt(12 n): 2.6 of those is p = 0.005.
    """
    if view.rows(LOSS_TRAIN) < view.limit("min-rows"):
        return unknown("more rows of loss/train")
    spikes, loss = _standing(view), view.finite(LOSS_TRAIN)
    if len(spikes) < 5 or loss is None:
        return absent(LOSS_TRAIN)
    begin, end = float(loss.steps[0]), float(loss.steps[-1])
    places = (np.array([s.start for s in spikes], dtype=np.float64) - begin) / max(1.0, end - begin)
    crowding = (float(places.mean()) - 0.5) * (12 * len(spikes)) ** 0.5
    heights = np.array([s.z for s in spikes])
    half = len(spikes) // 2
    higher = level(heights[half:]) >= level(heights[:half])
    found = present(spikes[0].start, spikes[-1].end, channel=LOSS_TRAIN, count=len(spikes))
    return found if crowding > _BY_CHANCE and higher else absent(LOSS_TRAIN)


def _even(view: View) -> Observation:
    """Five spikes or more at one distance: the loop makes them (a target network that is renewed), and no batch."""
    if view.rows(LOSS_TRAIN) < view.limit("min-rows"):
        return unknown("more rows of loss/train")
    spikes = _standing(view)
    gaps = np.diff(np.array([spike.start for spike in spikes], dtype=np.float64))
    if gaps.size < 4 or float(np.ptp(gaps)) > 0.05 * float(gaps.mean()) + _interval(view):
        return absent(LOSS_TRAIN)
    return present(spikes[0].start, spikes[-1].start, channel=LOSS_TRAIN, count=len(spikes), period=float(gaps.mean()))


def _grow_with_lr(view: View) -> Observation:
    """Spikes that come where the LR is high and are higher the higher it is, three of them while it still rises.

    Tested by rank and put together (Stouffer 1949): where they come, how high the loss gets, and the gradient norm where it spikes
    with it; 2.6 is p = 0.005. What counts is out of the reach of the noise, and one spike at least stands above it. With a jump that stays
    the run becomes another one, so rows after it do not count. A run that begins at its highest LR shows nothing by it: there the first
    rows, which spike for other reasons, are those of the high LR.
    """
    loss, lr, schedule = view.finite(LOSS_TRAIN), view.finite(LR), view.schedule(LR)
    if loss is None or lr is None or schedule is None:
        return unknown(LOSS_TRAIN if loss is None else LR)
    spikes = [spike for spike in view.spikes(LOSS_TRAIN) if spike.prominence >= 1]
    last = next((number for number, spike in enumerate(spikes) if _stays(spike)), len(spikes) - 1)
    spikes = spikes[: last + 1]
    rising = sum(spike.start < schedule.peak_step for spike in spikes)
    if len(spikes) < 5 or rising < 3 or not _standing(view) or schedule.starts_high or schedule.constant:
        return absent(LR)
    end = spikes[-1].start if _stays(spikes[-1]) else int(loss.steps[-1])
    steps = loss.steps[loss.steps <= end].astype(np.float64)
    rates = np.interp([spike.start for spike in spikes], lr.steps.astype(np.float64), lr.values)
    ordered = np.sort(np.interp(steps, lr.steps.astype(np.float64), lr.values))
    places = (np.searchsorted(ordered, rates, side="left") + np.searchsorted(ordered, rates, side="right")) / (2 * ordered.size)
    by_rate = np.argsort(rates, kind="stable")
    heights = [np.array([spike.z for spike in spikes]), *_norms_at(view, spikes)]
    tests = [(float(places.mean()) - 0.5) * (12 * len(spikes)) ** 0.5, *(mann_kendall(height[by_rate]) for height in heights)]
    found = present(spikes[0].start, spikes[-1].end, channel=LR, count=len(spikes), first=float(rates[0]), top=float(rates.max()))
    return found if min(tests) > 0 and sum(tests) / len(tests) ** 0.5 > _BY_CHANCE else absent(LR)


def _stays(spike: Spike) -> bool:
    return spike.recovered is False and spike.rows >= 5


def _jump_after_spikes(view: View) -> Observation:
    """Five spikes or more, out of the reach of the noise, before the one that stays: the run had been getting there."""
    spike = _judged(view)
    if isinstance(spike, Observation):
        return spike
    earlier = [other for other in view.spikes(LOSS_TRAIN) if other.start < spike.start and other.prominence >= 1]
    led = _stays(spike) and len(earlier) >= 5
    return present(earlier[0].start, spike.start, channel=LOSS_TRAIN, count=len(earlier)) if led else absent(LOSS_TRAIN)


def _norms_at(view: View, spikes: list[Spike]) -> list[np.ndarray]:
    """The largest gradient norm in the rows of each spike; nothing where one has none, or where the norm does not spike with the loss."""
    norm = view.finite(GRAD_NORM_PRE)
    if norm is None:
        return []
    inside = [norm.values[(norm.steps >= spike.start - norm.interval) & (norm.steps <= spike.peak_step)] for spike in spikes]
    if not all(rows.size for rows in inside):
        return []
    largest = np.array([float(rows.max()) for rows in inside])
    return [largest] if level(largest) > 2 * level(norm.values) else []


def _unconfirmed(view: View) -> Observation:
    """Confirmed by their height, but among neighbours of the same height: the noise of this run has heavy tails."""
    if view.rows(LOSS_TRAIN) < view.limit("min-rows"):
        return unknown("more rows of loss/train")
    total, standing = len(view.spikes(LOSS_TRAIN)), len(_standing(view))
    return present(channel=LOSS_TRAIN, count=total - standing) if total - standing >= 3 and not standing else absent(LOSS_TRAIN)


_READS = (LOSS_TRAIN,)
DETECTORS = (
    Detector("loss-spike", _READS, _spike, "the loss is {peak:.4g} at step {at}, {z:.1f} robust σ above {before:.4g} ({count} such)", "no step stands above the noise of this run ({excursions} excursions of ordinary height)", thresholds=_SPIKE_LIMITS, live=True),
    Detector("spike-recovers", _READS, _recovered, "the spike at step {at} ({peak:.4g}) is back at its level by step {back}", "the spike does not recover in time, or there is none", thresholds=_SPIKE_LIMITS, live=True),
    Detector("spike-persists", _READS, _persistent, "after step {start} the loss stays up: {now:.4g} against {before:.4g} before", "the loss does not stay up after a spike", thresholds=_SPIKE_LIMITS, live=True),
    Detector("val-unmoved-by-spike", (*_READS, LOSS_VAL), _val_unmoved, "the validation loss does not rise with it ({first:.4g}, then {last:.4g})", "the validation loss rises with it, or there is no spike"),
    Detector("val-jumps-with-spike", (*_READS, LOSS_VAL), _val_jumps, "the validation loss rises with it ({first:.4g}, then {last:.4g})", "the validation loss does not rise with it, or there is no spike"),
    Detector("loss-drifts-after-one-row", _READS, _drifts, "one row, step {at}, is thrown to {peak:.4g}; the next is nearly back, and from there the loss drifts to {now:.4g}", "no drift follows a single row that towers"),
    Detector("spike-is-large", _READS, _large, "the spike at step {at} stands {z:.0f} robust σ high, far above every other excursion of the run", "the spike is not far outside the run's own tail", live=True),
    Detector("norm-at-spike", (*_READS, GRAD_NORM_PRE), _norm_at, "the gradient norm in the same step is {norm:.3g}, {ratio:.1f}× its level of {base:.3g}", "the gradient norm does not rise with the spike, or there is none", thresholds=(_NORM,), live=True),
    Detector("norm-stays-up-after-spike", (*_READS, GRAD_NORM_PRE), _norm_stays_up, "the gradient norm stays {ratio:.1f}× higher after step {start}", "the gradient norm returns to its level after the spike, or there is none"),
    Detector("lr-jump-at-spike", (*_READS, LR), _lr_at, "the LR jumps from {before:.3g} to {after:.3g} at step {start}, where the loss does", "the LR is smooth at the spike, or there is none", thresholds=(_LR_JUMP,), live=True),
    Detector("spikes-accelerate", _READS, _accelerate, "{count} spikes from step {start} to {end}, closer together or higher as they come", "spikes do not come oftener or higher"),
    Detector("spikes-at-one-distance", _READS, _even, "{count} spikes come every {period:.4g} steps, from step {start} on", "spikes do not come at one distance"),
    Detector("jump-after-spikes", _READS, _jump_after_spikes, "{count} spikes lead up to the jump, from step {start} on", "no spikes lead up to a jump"),
    Detector("spikes-grow-with-lr", (*_READS, LR), _grow_with_lr, "{count} spikes from step {start} to {end}, oftener and higher where the LR is high (up to {top:.3g})", "spikes do not follow the LR"),
    Detector("excursions-of-one-height", _READS, _unconfirmed, "{count} excursions stand out of the window but none above the others: the noise has heavy tails", "no crowd of equal excursions"),
)  # fmt: skip
