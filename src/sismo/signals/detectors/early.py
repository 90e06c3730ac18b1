"""What the first steps do where the LR starts at its peak: the norm is thrown up, the loss makes a V, and the run gets over it or not."""

from __future__ import annotations

import numpy as np

from sismo.records.channels import GRAD_NORM_PRE, LOSS_TRAIN
from sismo.signals.levels import end_level, head, level, noise
from sismo.signals.rolling import median_of_three
from sismo.signals.types import Detector, Observation, State, Threshold, absent, present, unknown
from sismo.signals.view import View

_NORM_SPIKE = Threshold("early-norm-spike", 5, 10, "×", "three-failures, failure 2: 10 to 50×; measured 10 to 22× at LR 0.1", "Gradient norm in the first steps over its steady level.")  # fmt: skip
_THROWN = 1000
"""How many times as high the loss or the norm has to be thrown that the LR is too high for any warmup; without one it is 10 to 50."""
_FAR_LOWER = 1 / 3
"""Share of the level of the first rows under which later rows do not tell how the noise was there."""
_FIRST_STEPS = 50
"""The user's second document puts the V at step 5 to 20 and its healing within about 200 steps."""
_BIT = 3
"""How many times the first norm a peak is under that a loss may fall through."""
_ROUGH = 3.5
"""Climb over the noise of the first rows that it may be all by itself: medians of three have two thirds of it, and 50 of them span 4.5 of that."""
_LONG = 200
"""Steps after which a run that has got over its first ones has learnt something."""
_LEARNT = 0.8
"""Share of its first level that the loss ends at, over which hardly anything was learnt."""
_STEADY = 0.1
"""Noise of the last rows over the first one, under which that one row tells the level that it is drawn from."""
_OVER = 3
"""So many times its noise over the first row a loss has to end that was never as low again."""


def _norm_spikes_early(view: View) -> Observation:
    """The norm peaks after the first row, above it, within 25 steps: an update threw it up, not the initialisation.

    It has to stand half as high again as anything that comes after: that is what the noise of this run does. Where it hardly
    rises and the loss falls from row to row all the while, as it does without any noise, it only came down with the loss later.
    """
    norm = view.finite(GRAD_NORM_PRE)
    if norm is None:
        return unknown(GRAD_NORM_PRE)
    if len(norm) < 30 or int(norm.steps[0]) > 2 * norm.interval:
        return unknown("the first rows of the gradient norm")
    rows = int(np.searchsorted(norm.steps, int(norm.steps[0]) + 25))
    if rows < 3:
        return unknown("each of the first 25 gradient norms")
    first = head(norm, rows)
    top = int(np.argmax(first))
    later = norm.values[rows : 8 * rows]
    steady = level(later)
    if view.objective == "contrast":  # whose queue gets hard in these steps
        return absent(GRAD_NORM_PRE)
    rises = top >= 1 and float(first[top]) >= max(1.5 * float(first[0]), 2.5 * level(first))  # the norm of a fresh model comes down anyhow
    ratio = float(first[top]) / steady if steady > 0 else 0.0
    usual = float(later.max()) / steady if steady > 0 else 0.0
    tall = _THROWN > ratio >= max(view.limit("early-norm-spike"), 1.5 * usual)
    if rises and tall and not (float(first[top]) < _BIT * float(first[0]) and _falls_through(view, int(norm.steps[top]))):
        return present(int(norm.steps[top]), channel=GRAD_NORM_PRE, norm=float(first[top]), ratio=ratio)
    return absent(GRAD_NORM_PRE)


def _loss_v_early(view: View) -> Observation:
    """Within the first steps the loss climbs well over where it already was, for more than a row, then comes down again.

    It has to be taller than any climb of the same kind in later stretches of the same length, which is what the noise of this run does: twice
    as tall beside 11 stretches, more beside fewer. In noise whose tail falls with the square, 1 in 50 gets there. Where the
    noise falls with the loss, or may do so because every later stretch is far lower, the climb has to be that tall as a factor.
    """
    loss = view.finite(LOSS_TRAIN)
    if loss is None:
        return unknown(LOSS_TRAIN)
    if len(loss) < 30 or int(loss.steps[0]) > 2 * loss.interval:
        return unknown("the first rows of the loss")
    rows = int(np.searchsorted(loss.steps, int(loss.steps[0]) + _FIRST_STEPS))
    if rows < 8 or view.objective is not None:  # such a loss climbs for other reasons
        return absent(LOSS_TRAIN)
    climb, top = _climb(loss.values[:rows])
    starts = range(rows, min(len(loss) - rows, 12 * rows), rows) or [top + 3]  # a log of no such stretch is held against its own rest
    usual = [_climb(loss.values[start : start + rows])[0] for start in starts if len(loss) - start >= 20]
    if not usual:
        return unknown("more rows of loss/train")
    base = float(loss.values[:top].min())
    top += int(np.argmax(loss.values[top - 1 : top + 2])) - 1
    taller = (50 / len(usual)) ** 0.5
    rough = max(5 * noise(loss.values[:200]), _ROUGH * noise(loss.values[:rows]))
    tall = climb > max(taller * max(usual), rough, 0.05 * abs(base)) and climb < _THROWN * abs(base)
    if tall and float(loss.values.min()) > 0:
        logs = np.log(loss.values)
        factors = [_climb(logs[start : start + rows])[0] for start in starts if len(loss) - start >= 20]
        multiplies = max(usual) * min(factors) > 1.5 * max(factors) * min(usual)  # as factors the climbs of this run are the more even ones
        stays = max(factors) * min(usual) > 1.5 * max(usual) * min(factors)  # as differences they are
        far = level(loss.values[rows:]) < _FAR_LOWER * level(loss.values[:rows])
        tall = not (multiplies or (far and not stays)) or _climb(logs[: top + 3])[0] > taller * max(factors)
    if tall and level(loss.values[rows:]) < base + climb:
        return present(int(loss.steps[top]), channel=LOSS_TRAIN, base=base, peak=float(loss.values[top]))
    return absent(LOSS_TRAIN)


def _climb(values: np.ndarray) -> tuple[float, int]:
    """Largest rise of the running median of three over its own minimum so far, and where it peaks."""
    smooth = median_of_three(values[:-2], values[1:-1], values[2:])
    rises = smooth - np.minimum.accumulate(smooth)
    place = int(np.argmax(rises))
    return float(rises[place]), place + 1


def _falls_through(view: View, step: int) -> bool:
    """Whether each of the first rows of the loss, to three after a step, is under the one before."""
    loss = view.finite(LOSS_TRAIN)
    if loss is None:
        return False
    first = loss.values[loss.steps <= step + 3 * loss.interval]
    return first.size >= 5 and bool((np.diff(first) < 0).all())


def _early(view: View) -> Observation:
    """The first steps threw the norm or the loss up."""
    seen = [_norm_spikes_early(view), _loss_v_early(view)]
    return next((one for one in seen if one.state is State.PRESENT), next((one for one in seen if one.state is State.UNKNOWN), seen[0]))


def _healed(view: View) -> Observation:
    """They did, and the loss ends well under its start, or the log ends before that can be said."""
    thrown = _early(view)
    if thrown.state is not State.PRESENT:
        return thrown
    return absent(LOSS_TRAIN) if _learns_nothing(view) else thrown._replace(channel=LOSS_TRAIN)


def _never_healed(view: View) -> Observation:
    thrown = _early(view)
    if thrown.state is not State.PRESENT or not _learns_nothing(view):
        return thrown if thrown.state is State.UNKNOWN else absent(LOSS_TRAIN)
    loss = view.finite(LOSS_TRAIN)
    assert loss is not None
    first, last, rough = float(loss.values[0]), end_level(loss), noise(loss.values[-_LONG:])
    # Its noise may let no single row say where the loss began; but not that it began far under all of them.
    if first <= 0 or not (rough < _STEADY * first or last > first + _OVER * rough):
        return absent(LOSS_TRAIN)
    return present(thrown.start, int(loss.steps[-1]), channel=LOSS_TRAIN, first=first, last=last)


def _learns_nothing(view: View) -> bool:
    """Whether the loss does not end well under where it began, though there was time."""
    loss = view.finite(LOSS_TRAIN)
    if loss is None or not len(loss) or int(loss.steps[-1]) - int(loss.steps[0]) < _LONG or view.objective is not None:
        return False
    return end_level(loss) > _LEARNT * float(loss.values[0])


DETECTORS = (
    Detector("norm-spikes-early", (GRAD_NORM_PRE,), _norm_spikes_early, "the gradient norm is thrown up to {norm:.3g} at step {start}, {ratio:.0f}× its steady level", "no early spike of the gradient norm", thresholds=(_NORM_SPIKE,)),
    Detector("loss-v-early", (LOSS_TRAIN,), _loss_v_early, "the loss is at {base:.4g}, climbs to {peak:.4g} at step {start}, and comes down again: a V", "no V in the first steps of the loss"),
    Detector("early-throw-healed", (LOSS_TRAIN, GRAD_NORM_PRE), _healed, "the first steps threw the run off at step {start}, and it got over it", "no rough start that the run got over"),
    Detector("early-throw-never-healed", (LOSS_TRAIN, GRAD_NORM_PRE), _never_healed, "the first steps threw the run off at step {start}, and it never got over it: the loss goes from {first:.4g} to {last:.4g}", "the run got over its first steps"),
)  # fmt: skip
