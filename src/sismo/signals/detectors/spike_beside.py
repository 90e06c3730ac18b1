"""What else moved where the loss spiked: the gradient norm, the LR, the validation loss."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sismo.records.channels import GRAD_NORM_PRE, LOSS_TRAIN, LOSS_VAL, LR
from sismo.signals.levels import after, before, level
from sismo.signals.rolling import TINY
from sismo.signals.spikes import Spike
from sismo.signals.standing import interval_of, judged, judged_beside, norm_at
from sismo.signals.types import Detector, Observation, Threshold, absent, present, unknown
from sismo.signals.view import View

_NORM = Threshold("spike-norm-ratio", 3, 30, "×", "stability tree says 30; measured: a realistic tail batch gives 3.1 to 3.8, healthy at most 2.4", "Gradient norm at a spike over its moving mean.")  # fmt: skip
_LR_JUMP = Threshold("lr-jump", 0.05, 0.0, "share", "measured: one-step change over 5 %", "One-row change of the LR, off its schedule, that counts as a jump.")  # fmt: skip
_BESIDE, _GAP = 10, 1.25
"""Rows around an evaluation that its loss is held against; growth of their ratio from which on they have parted."""
_NEXT, _LAST, _STAYS = 5, 3, 1.5
"""Rows after the first of a jump that say how high it is; gradient norms before it among which a bad step would be; growth that stays."""
_PROMPT, _AS_MUCH = 20, 0.8
"""Rows after a jump within which an evaluation tells of the model that made it; share of the rise of the loss that is as much."""


def _norm_stays_up(view: View) -> Observation:
    """The norm keeps a higher level after the spike: the data or the targets changed, not one batch."""
    found = judged_beside(view, GRAD_NORM_PRE)
    if isinstance(found, Observation):
        return found
    spike, norm = found
    base, now = level(before(norm, spike.start, 100)), level(after(norm, spike.end, 100)[5:])
    if not (base > 0 and now > 0):
        return unknown("the gradient norm around step {at}", at=spike.start)
    return present(spike.start, channel=GRAD_NORM_PRE, ratio=now / base) if now / base >= 3 else absent(GRAD_NORM_PRE)


def _out_of_calm(view: View) -> Observation:
    """A jump that stays is there at once, row for row, its gradient stays large, and no step before it was larger than others.

    A step that goes wrong has a large gradient, or a first row that towers over those after it.
    """
    spike = _judged_that_stays(view)
    loss, norm = view.finite(LOSS_TRAIN), view.finite(GRAD_NORM_PRE)
    if isinstance(spike, Observation):
        return spike
    if loss is None or norm is None:
        return unknown(GRAD_NORM_PRE)
    rows = after(loss, spike.start, 1 + _NEXT)
    last, usual = before(norm, spike.start, _LAST), before(norm, spike.start, 100)[:-_LAST]
    soon = norm.steps[norm.steps < spike.start][-1:] >= spike.start - 2 * loss.interval
    if rows.size <= _NEXT or usual.size < 20 or not soon.all():
        return unknown("the gradient norm around step {at}", at=spike.start)
    first, then = float(rows[0]) - spike.before, level(rows[1:]) - spike.before
    stays = level(after(norm, spike.start, _NEXT)) >= _STAYS * level(usual)
    calm = float(last.max()) <= float(usual.max()) and 0.5 * then <= first <= 2 * then and stays
    return present(spike.start, channel=GRAD_NORM_PRE, norm=float(last[-1])) if calm else absent(GRAD_NORM_PRE)


def _lr_at(view: View) -> Observation:
    spike = judged(view)
    if isinstance(spike, Observation):
        return spike
    schedule = view.schedule(LR)
    if schedule is None:
        return unknown(LR)
    reach = 3 * max(1.0, interval_of(view))
    for jump in schedule.jumps:
        if jump.kind == "up" and spike.start - reach <= jump.step <= spike.end:
            return present(jump.step, channel=LR, before=jump.before, after=jump.after)
    return absent(LR)


def _val_unmoved(view: View) -> Observation:
    """After a jump that stays, or heals late, the evaluations are not above the last one before it: other data, not a worse model.

    Nor is the last of them: labels that get worse and worse spoil the model after the training loss.
    """
    val = view.finite(LOSS_VAL)
    last = level(val.values[-3:]) if val is not None else 0.0
    return _val_at(view, lambda earlier, later: float(later.max()) <= 1.02 * earlier and last <= 1.1 * earlier)


def _val_jumps(view: View) -> Observation:
    """After a jump that stays, the evaluations are well above the last one before it: a worse model, not other data.

    A late one counts where it rose as the loss did and the loss has not come down by then, an early one where either is so: even a good
    model learns bad data.
    """
    found = _val_at(view, lambda earlier, later: float(later.min()) > 1.05 * earlier)
    loss, val, start = view.finite(LOSS_TRAIN), view.finite(LOSS_VAL), found.start
    if start is None or loss is None or val is None:
        return found
    first = val.steps[np.searchsorted(val.steps, start)]
    soon = np.diff(np.searchsorted(loss.steps, [start, first])) <= _PROMPT
    usual = level(before(loss, start, _PROMPT))
    jumped, climbed = level(after(loss, start, _NEXT)) - usual, level(after(loss, int(first), _PROMPT)) - usual
    as_much = after(val, start, 1)[0] - before(val, start, 1)[0] >= _AS_MUCH * climbed
    stands = climbed >= _AS_MUCH * jumped
    return found if (as_much or stands if soon else as_much and stands) else unknown(LOSS_VAL)


def _gap_opens(view: View) -> Observation:
    """After a jump that stays, the training loss is further over the validation loss than before, at the next two evaluations both.

    A worse model is worse on both alike; a gap says that what is trained on is another thing.
    """
    spike = _judged_that_stays(view)
    if isinstance(spike, Observation):
        return spike
    loss, val = view.finite(LOSS_TRAIN), view.finite(LOSS_VAL)
    if loss is None or val is None:
        return unknown(LOSS_VAL)
    jump, later = (int(np.searchsorted(val.steps, step)) for step in (spike.start, spike.start + _BESIDE * loss.interval))
    places = [*range(max(0, jump - 3), jump), later, later + 1]
    if jump < 1 or len(val) < later + 2:
        return unknown(LOSS_VAL)
    rows = np.searchsorted(loss.steps, val.steps[places])
    train = np.array([level(loss.values[max(0, row - _BESIDE // 2) : row + _BESIDE // 2]) for row in rows])
    ratios = train / np.maximum(val.values[places], TINY)
    usual, first, second = level(ratios[:-2]), float(ratios[-2]), float(ratios[-1])
    found = present(spike.start, channel=LOSS_TRAIN, train=float(train[-2]), val=float(val.values[later]), usual=usual, ratio=first)
    return found if min(first, second) > _GAP * max(usual, 1.0) else absent(LOSS_TRAIN)


def _val_at(view: View, fits: Callable[[float, np.ndarray], bool]) -> Observation:
    """The last evaluation before a jump that stays against the next two."""
    spike = _judged_that_stays(view)
    if isinstance(spike, Observation):
        return spike
    val = view.finite(LOSS_VAL)
    if val is None:
        return unknown(LOSS_VAL)
    earlier, later = before(val, spike.start, 1), after(val, spike.start, 2)
    if not earlier.size or later.size < 2:
        return unknown(LOSS_VAL)
    found = present(spike.start, channel=LOSS_VAL, first=float(earlier[-1]), last=float(later[-1]))
    return found if fits(float(earlier[-1]), later) else absent(LOSS_VAL)


def _judged_that_stays(view: View) -> Spike | Observation:
    """The spike that matters most, or that there is none that stays."""
    spike = judged(view)
    return absent(LOSS_VAL) if not isinstance(spike, Observation) and spike.recovered else spike


_READS = (LOSS_TRAIN,)
DETECTORS = (
    Detector("norm-at-spike", (*_READS, GRAD_NORM_PRE), norm_at, "the gradient norm in the same step is {norm:.3g}, {ratio:.1f}× its level of {base:.3g}", "no spike comes with a rise of the gradient norm", thresholds=(_NORM,), live=True),
    Detector("norm-stays-up-after-spike", (*_READS, GRAD_NORM_PRE), _norm_stays_up, "the gradient norm stays {ratio:.1f}× higher after step {start}", "the gradient norm does not stay up after a spike"),
    Detector("jump-out-of-calm", (*_READS, GRAD_NORM_PRE), _out_of_calm, "the jump is there at once at step {start}, and the step before it was as small as others (gradient norm {norm:.3g}): nothing threw the weights", "no jump comes whole out of steps as small as others"),
    Detector("lr-jump-at-spike", (*_READS, LR), _lr_at, "the LR jumps from {before:.3g} to {after:.3g} at step {start}, where the loss does", "the LR does not jump where the loss does", thresholds=(_LR_JUMP,), live=True),
    Detector("val-unmoved-by-spike", (*_READS, LOSS_VAL), _val_unmoved, "the validation loss does not rise with it ({first:.4g}, then {last:.4g})", "no spike leaves the validation loss as it was"),
    Detector("gap-opens-with-jump", (*_READS, LOSS_VAL), _gap_opens, "at the next evaluation the training loss is {train:.4g} and the validation loss {val:.4g}, {ratio:.2f}× where it was {usual:.2f}×: a worse model would be worse on both alike", "the training loss does not part from the validation loss with a jump"),
    Detector("val-jumps-with-spike", (*_READS, LOSS_VAL), _val_jumps, "the validation loss rises with it ({first:.4g}, then {last:.4g})", "the validation loss does not rise with a spike"),
)  # fmt: skip
