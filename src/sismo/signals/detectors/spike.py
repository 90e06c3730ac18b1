"""Loss spikes: whether there is one, whether it heals, and whether it is far outside what the run does by itself."""

from __future__ import annotations

import numpy as np

from sismo.records.channels import GRAD_NORM_PRE, LOSS_TRAIN
from sismo.signals.kind import goes_below_zero
from sismo.signals.levels import after, level, noise
from sismo.signals.standing import back_late, judged, norm_at, numbers_of, standing, worst
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
_OFTEN = 3
"""Other spikes from which on they say what the run does by itself."""
_APART = 3.0
"""Height of the highest of many spikes over the third highest that sets it apart: 1 in 14 gets there where tails fall with the cube."""
_LEARNT, _MINOR = 0.02, 0.25
"""Share of its first level under which a loss is that of a task as good as learnt; and under which a spike of such a loss is a small one."""
_HIGHER = 3
"""Level of all that follows over that before a spike which the noise of a run that is none the worse does not make."""
_SPIKE_LIMITS = (_WINDOW, _SIGMA, _CONFIRM, _RECOVER, _RECOVER_STEPS, _PROMINENCE)


def _spike(view: View) -> Observation:
    if view.rows(LOSS_TRAIN) < view.limit("min-rows"):
        return unknown("more rows of loss/train")
    spikes = standing(view)
    if not spikes:
        return absent(LOSS_TRAIN, excursions=len(view.spikes(LOSS_TRAIN)))
    spike = worst(spikes)
    return present(spike.start, spike.end, channel=LOSS_TRAIN, count=len(spikes), **numbers_of(spike))


def _recovered(view: View) -> Observation:
    spike = judged(view)
    if isinstance(spike, Observation):
        return spike
    back = back_late(view, spike)
    if spike.recovered is False and back is not None:
        return present(spike.start, spike.end, channel=LOSS_TRAIN, back=back, **numbers_of(spike))
    if spike.recovered is None:
        return unknown("the {steps} steps after the spike at step {at}", steps=int(view.limit("spike-recover-steps")), at=spike.start)
    if not spike.recovered:
        return absent(LOSS_TRAIN)
    return present(spike.start, spike.end, channel=LOSS_TRAIN, back=spike.recovered_at, **numbers_of(spike))


def _healed_late(view: View) -> Observation:
    """It is back in the end, after more steps than a spike has to recover in: what one odd batch does is over in a few."""
    spike = judged(view)
    if isinstance(spike, Observation):
        return spike
    back = back_late(view, spike)
    if spike.recovered is None:
        return unknown("the {steps} steps after the spike at step {at}", steps=int(view.limit("spike-recover-steps")), at=spike.start)
    return absent(LOSS_TRAIN) if back is None else present(spike.start, back, channel=LOSS_TRAIN, back=back, **numbers_of(spike))


def _persistent(view: View) -> Observation:
    """Not recovered, and the level at the end of what follows is still above the one before by more than its noise."""
    spike = judged(view)
    if isinstance(spike, Observation):
        return spike
    loss = view.finite(LOSS_TRAIN)
    if loss is None or spike.recovered or back_late(view, spike) is not None:
        return absent(LOSS_TRAIN)
    later = after(loss, spike.start, 200)
    if spike.recovered is None:
        # The log ends before the spike could heal, as it does when a run is stopped because of it.
        now = level(later[-3:])
        high = later.size >= 3 and now > spike.before + 8 * spike.scale and now > 1.3 * spike.before > 0
        found = present(spike.start, int(loss.steps[-1]), strength=0.8, channel=LOSS_TRAIN, now=now, **numbers_of(spike))
        return found if high else absent(LOSS_TRAIN)
    now = level(later[len(later) // 2 :])
    if not now > spike.before + 3 * max(spike.scale, noise(later) / max(1.0, len(later) ** 0.5)):
        return absent(LOSS_TRAIN)
    return present(spike.start, int(loss.steps[-1]), channel=LOSS_TRAIN, now=now, **numbers_of(spike))


def _drifts(view: View) -> Observation:
    """One row towers, the next is nearly back, and then the loss drifts up for good: that one step threw the weights or the moments."""
    spike = judged(view)
    if isinstance(spike, Observation):
        return spike
    loss = view.finite(LOSS_TRAIN)
    if loss is None or spike.recovered is not False or spike.rows < 5:
        return absent(LOSS_TRAIN)
    inside = loss.values[(loss.steps >= spike.start) & (loss.steps <= spike.end)] - spike.before
    later = level(inside[-max(2, inside.size // 4) :])
    thrown = float(inside[0]) > 2 * later and float(inside[1]) < later / 2
    return (
        present(spike.start, spike.end, channel=LOSS_TRAIN, now=later + spike.before, **numbers_of(spike)) if thrown else absent(LOSS_TRAIN)
    )


def _large(view: View) -> Observation:
    """Far outside any tail, and soon over: three times what the noise of this run reaches, over several rows; or six times, in one.

    Not where the gradient norm is logged and did not move: an update has not seen it. And not where others came near it: then the run does
    that now and then.
    """
    spike = judged(view)
    if isinstance(spike, Observation):
        return spike
    if norm_at(view).state is State.ABSENT or back_late(view, spike) is not None:
        return absent(LOSS_TRAIN)
    others = sorted((other.z for other in view.spikes(LOSS_TRAIN) if other.start != spike.start), reverse=True)
    alone = len(others) < _OFTEN or spike.z >= _APART * others[1]
    large = alone and (spike.prominence >= 6 or (spike.prominence >= 3 and spike.z >= 12 and spike.rows >= 2))
    return present(spike.start, spike.end, channel=LOSS_TRAIN, **numbers_of(spike)) if large else absent(LOSS_TRAIN)


def _worth_a_look(view: View) -> Observation:
    """The norm moved with it, or it is large; and it is not one odd example in a task that is as good as learnt.

    There, with the loss under 2 % of what it began at, a single example that is not fitted stands out however small it is: not where the
    spike stays under a quarter of where the loss began. Nor of a loss that goes below zero: a density has no bound on what one odd example
    costs. Nor where the loss stands well over the level before it ever after, or is back late: one batch does not do that, a target that
    moves does, or images that get larger, and the run got over it.
    """
    spike = judged(view)
    if isinstance(spike, Observation):
        return spike
    seen = [norm_at(view), _large(view)]
    found = next((one for one in seen if one.state is State.PRESENT), None)
    if found is None:
        return next((one for one in seen if one.state is State.UNKNOWN), absent(LOSS_TRAIN))
    loss = view.finite(LOSS_TRAIN)
    began = level(loss.values[:10]) if loss is not None else 0.0
    small = 0 <= spike.before < _LEARNT * began and spike.peak < _MINOR * began
    ever_after = loss.values[loss.steps > spike.end] if loss is not None else np.zeros(0)
    higher = ever_after.size > 0 and spike.before >= 0 and level(ever_after) > spike.before + max(spike.scale, (_HIGHER - 1) * spike.before)
    if small or higher or back_late(view, spike) is not None or goes_below_zero(view):
        return absent(LOSS_TRAIN)
    return present(spike.start, spike.end, channel=LOSS_TRAIN, **numbers_of(spike))


_READS = (LOSS_TRAIN,)
DETECTORS = (
    Detector("loss-spike", _READS, _spike, "the loss is {peak:.4g} at step {at}, {z:.1f} robust σ above {before:.4g} ({count} such)", "no step stands above the noise of this run ({excursions} {excursions:excursion|excursions} of ordinary height)", thresholds=_SPIKE_LIMITS, live=True),
    Detector("spike-recovers", _READS, _recovered, "the spike at step {at} ({peak:.4g}) is back at its level by step {back}", "no spike is back at its level in time", thresholds=_SPIKE_LIMITS, live=True),
    Detector("spike-heals-late", _READS, _healed_late, "the loss is not back from that spike before step {back}, later than one batch would have it", "no spike takes longer to heal than one batch would have it", thresholds=_SPIKE_LIMITS),
    Detector("spike-persists", _READS, _persistent, "after step {start} the loss stays up: {now:.4g} against {before:.4g} before", "the loss does not stay up after a spike", thresholds=_SPIKE_LIMITS, live=True),
    Detector("loss-drifts-after-one-row", _READS, _drifts, "one row, step {at}, is thrown to {peak:.4g}; the next is nearly back, and from there the loss drifts to {now:.4g}", "no drift follows a single row that towers"),
    Detector("spike-is-large", _READS, _large, "the spike at step {at} stands {z:.0f} robust σ high, far above every other excursion of the run", "the spike is not far outside the run's own tail", live=True),
    Detector("spike-is-worth-a-look", (*_READS, GRAD_NORM_PRE), _worth_a_look, "the spike at step {at} reaches {peak:.4g} from {before:.4g}", "no spike, or one odd example in a task that is as good as learnt"),
)  # fmt: skip
