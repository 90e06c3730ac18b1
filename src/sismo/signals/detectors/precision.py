"""What the gradient norm and the loss scaler say about half precision."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from sismo.records.channels import GRAD_NORM_POST, GRAD_NORM_PRE, LOSS_SCALE, LOSS_TRAIN
from sismo.signals.levels import level
from sismo.signals.rolling import TINY, mad
from sismo.signals.scale import ScaleHistory
from sismo.signals.types import Detector, Observation, Threshold, absent, present, unknown
from sismo.signals.view import View

_OVERFLOW_RATE = Threshold("overflow-rate", 0.05, 0.05, "share", "docs/sources.md, detector 8: a skipped-step rate over 5 % is a fault", "Share of steps after start-up that overflow before it counts as one.")  # fmt: skip
_SCALE_FLOOR = Threshold("loss-scale-floor", 1.0, 1.0, "1", "stability tree, S3.Q2", "A dynamic loss scale under this has collapsed.")


_LOW_SCALE = 256.0
"""A scaler's search starts at 65536 or 2^32 and finds its level well above this; 40 skipped steps get down from either."""

_LARGEST_SCALE = 2.0**100
"""No scaler goes near it: scales start at 2^32 at most, and double once in 1,000 steps or more."""


def _norm_nonfinite(view: View) -> Observation:
    norm = view.series(GRAD_NORM_PRE)
    if norm is None:
        return unknown(GRAD_NORM_PRE)
    bad = np.nonzero(~np.isfinite(norm.values))[0]
    if not bad.size:
        return absent(GRAD_NORM_PRE)
    return present(int(norm.steps[bad[0]]), int(norm.steps[bad[-1]]), channel=GRAD_NORM_PRE, count=int(bad.size), rows=len(norm))


def _norm_nonfinite_once(view: View) -> Observation:
    """A few scattered non-finite norms (at most 5 % of the rows, none of the last two) with a loss that stays finite."""
    norm, loss = view.series(GRAD_NORM_PRE), view.series(LOSS_TRAIN)
    if norm is None:
        return unknown(GRAD_NORM_PRE)
    bad = ~np.isfinite(norm.values)
    lost = loss is not None and not bool(np.isfinite(loss.values).all())
    if not bool(bad.any()) or lost or bool(bad[-2:].any()):
        return absent(GRAD_NORM_PRE)
    late = int(bad[35:].sum())
    if late > max(1, view.limit("overflow-rate") * max(1, len(norm) - 35)):
        return absent(GRAD_NORM_PRE)
    steps = norm.steps[bad]
    return present(int(steps[0]), int(steps[-1]), channel=GRAD_NORM_PRE, count=int(bad.sum()))


def _scaled(rule: Callable[[View, ScaleHistory], Observation]) -> Callable[[View], Observation]:
    def look(view: View) -> Observation:
        scale = view.scale()
        if scale is None:  # numbers of fp32's range need none
            return absent() if view.header.dtype in ("fp32", "bf16") else unknown(LOSS_SCALE)
        return absent(LOSS_SCALE) if scale.placeholder else rule(view, scale)

    return look


def _number(value: float | None) -> float:
    """NaN for a scale that only its overflows are known of."""
    return float("nan") if value is None else value


def _first(scale: ScaleHistory) -> int | None:
    return scale.overflow_steps[0] if scale.overflow_steps else None


def _collapsed(view: View, scale: ScaleHistory) -> Observation:
    if not scale.collapsed:
        return absent(LOSS_SCALE)
    return present(_fall_start(scale), channel=LOSS_SCALE, last=_number(scale.last), fall=scale.longest_fall)


def _fall_start(scale: ScaleHistory) -> int | None:
    """First of the overflows that lead into the end without a pause: none follows the one before it at over five times their usual distance."""
    steps = np.array(scale.overflow_steps)
    if not steps.size:
        return None
    gaps = np.diff(steps)
    usual = level(gaps[-max(1, scale.longest_fall) :].astype(np.float64)) if gaps.size else 1.0
    pauses = np.nonzero(gaps > 5 * usual)[0]
    return int(steps[pauses[-1] + 1]) if pauses.size else int(steps[0])


def _under_one(view: View, scale: ScaleHistory) -> Observation:
    """The scale fell under 1. One that stands there from the first row to the last, with no step skipped, has found its level."""
    stands = scale.constant and not scale.overflow_steps
    under = scale.minimum is not None and scale.minimum < view.limit("loss-scale-floor") and not stands
    return present(_first(scale), channel=LOSS_SCALE, minimum=scale.minimum) if under else absent(LOSS_SCALE)


def _goes_on(view: View, scale: ScaleHistory) -> Observation:
    """Since the scale began to fall each row of loss is lower than the one before, with overflows on less than one step in twenty."""
    loss, start = view.finite(LOSS_TRAIN), _fall_start(scale)
    if loss is None or not len(loss):
        return unknown(LOSS_TRAIN)
    if start is None:
        return absent(LOSS_SCALE)
    since = loss.values[max(0, int(np.searchsorted(loss.steps, start, side="right")) - 1) :]
    steps = int(loss.steps[-1]) - start
    count = sum(step >= start for step in scale.overflow_steps)
    if since.size < 3 or not bool(np.all(np.diff(since) < 0)) or since[-1] > 0.95 * since[0] or count > steps / 20:
        return absent(LOSS_SCALE)
    return present(start, int(loss.steps[-1]), channel=LOSS_TRAIN, first=float(since[0]), last=float(since[-1]), count=count, steps=steps)


def _constant(view: View, scale: ScaleHistory) -> Observation:
    return present(channel=LOSS_SCALE, scale=_number(scale.last)) if scale.constant else absent(LOSS_SCALE)


def _overflow(view: View, scale: ScaleHistory) -> Observation:
    count = len(scale.overflow_steps)
    return present(_first(scale), scale.overflow_steps[-1], channel=LOSS_SCALE, count=count) if count else absent(LOSS_SCALE)


def _late(view: View, scale: ScaleHistory) -> Observation:
    share = scale.late_overflow_share
    if share <= view.limit("overflow-rate"):
        return absent(LOSS_SCALE)
    return present(_first(scale), channel=LOSS_SCALE, share=share)


def _from_start(view: View, scale: ScaleHistory) -> Observation:
    """Every step was skipped, down from a search's start to a low scale, or to 1; a scale that is under 1 in the first line came from there."""
    first, last = _number(scale.first), _number(scale.last)
    down = last <= (_LOW_SCALE if first > _LOW_SCALE else 1.0)
    found = scale.skipped_from_start and scale.start <= 35 and not first < 1.0 and (down or len(scale.overflow_steps) > 40)
    return present(_first(scale), channel=LOSS_SCALE, last=_number(scale.last)) if found else absent(LOSS_SCALE)


def _startup(view: View, scale: ScaleHistory) -> Observation:
    """Overflows while the scaler looks for its level, or one now and then, the scale not at its floor and no loss lost."""
    count = len(scale.overflow_steps)
    if view.nonfinite(LOSS_TRAIN):
        return absent(LOSS_SCALE)
    low = scale.last is not None and scale.last <= _LOW_SCALE and scale.skipped_from_start
    if not count or low or scale.collapsed or scale.late_overflow_share > view.limit("overflow-rate"):
        return absent(LOSS_SCALE)
    return present(_first(scale), scale.overflow_steps[-1], channel=LOSS_SCALE, count=count, last=_number(scale.last))


def _constant_with_overflow(view: View, scale: ScaleHistory) -> Observation:
    """A scale that never moves while norms overflow: nothing reacts to the overflows."""
    norm = view.series(GRAD_NORM_PRE)
    if not scale.constant or _number(scale.last) <= 1.0:  # there is nothing left to halve
        return absent(LOSS_SCALE)
    lost = 0 if norm is None else int((~np.isfinite(norm.values)).sum())
    count = lost + len(scale.overflow_steps)
    first = int(norm.steps[np.argmax(~np.isfinite(norm.values))]) if norm is not None and lost else _first(scale)
    return present(first, channel=LOSS_SCALE, scale=_number(scale.last), count=count) if count >= 2 else absent(LOSS_SCALE)


def _norm_is_scaled(view: View) -> Observation:
    """Gradient norms of the size of the loss scale: measured before they were unscaled.

    Without a logged scale, norms that are a power of two of at least 1024 to within 1 %, row after row. With one, norms of over 1000 that
    are a hundredth to a hundred times it, and that go up and down with it where it moves.
    """
    norm, scale = view.finite(GRAD_NORM_PRE), view.finite(LOSS_SCALE)
    if norm is None or len(norm) < 2:
        return unknown(GRAD_NORM_PRE)
    middle = level(norm.values)
    if not 1000 <= middle < _LARGEST_SCALE:
        return absent(GRAD_NORM_PRE)
    power = 2.0 ** round(math.log2(middle))
    fits = float(np.mean(np.abs(norm.values / power - 1) < 0.01)) > 0.8
    if not fits and scale is not None and len(scale) and float(scale.values.min()) >= 2:
        factor = scale.values[np.maximum(np.searchsorted(scale.steps, norm.steps, side="right") - 1, 0)]
        ratio = np.log(np.maximum(norm.values, TINY) / factor)
        fits = abs(level(ratio)) < math.log(100) and (level(factor) >= 1024) and not _follows_better_without(norm.values, factor, ratio)
    return present(int(norm.steps[0]), channel=GRAD_NORM_PRE, norm=middle) if fits else absent(GRAD_NORM_PRE)


def _follows_better_without(norms: np.ndarray, factor: np.ndarray, ratio: np.ndarray) -> bool:
    """Whether the norms differ less among themselves than over a scale that moves: then they do not follow it."""
    moved = bool(np.any(factor != factor[0]))
    return moved and mad(np.log(np.maximum(norms, TINY))) < mad(ratio)


def _thousands_over_clip(view: View) -> Observation:
    """Norms of over 1,000 times the clip on nine rows of ten, and a loss that stands: the clip leaves nothing of the gradient.

    No scale is logged to compare with. In fp32 and bf16 nothing is scaled; a norm that grows a hundredfold explodes.
    """
    norm, post, loss = view.finite(GRAD_NORM_PRE), view.finite(GRAD_NORM_POST), view.finite(LOSS_TRAIN)
    if norm is None or len(norm) < 20 or loss is None or len(loss) < 20:
        return unknown(GRAD_NORM_PRE if norm is None else LOSS_TRAIN)
    clip = level(post.values) if post is not None and len(post) else view.header.clip
    if clip is None:
        return unknown(GRAD_NORM_POST)
    middle, low, high = level(norm.values), *np.quantile(norm.values, (0.1, 0.9)).tolist()
    blocks = view.parts(LOSS_TRAIN, 20)
    stands = float(np.ptp(blocks)) < 0.02 * abs(level(blocks))
    scaled = view.header.dtype in (None, "fp16") and low > max(1000.0, 1000 * clip) and high < 100 * low
    found = present(int(norm.steps[0]), strength=0.75, channel=GRAD_NORM_PRE, norm=middle, clip=clip)
    return found if scaled and stands else absent(GRAD_NORM_PRE)


def _clip_bounds_scaled(view: View) -> Observation:
    """After clipping, the norm times the loss scale is one number, the bound: the clip saw gradients that were still scaled."""
    norm, scale = view.finite(GRAD_NORM_POST), view.finite(LOSS_SCALE)
    if norm is None or scale is None or len(norm) < 10 or not len(scale):
        return unknown(GRAD_NORM_POST if norm is None or len(norm) < 10 else LOSS_SCALE)
    factor = scale.values[np.maximum(np.searchsorted(scale.steps, norm.steps, side="right") - 1, 0)]
    products = norm.values * factor
    bound = view.header.clip if view.header.clip is not None else level(products)
    fits = float(np.mean(np.abs(products / bound - 1) < 0.02)) > 0.5 if bound > 0 else False
    large = level(factor) >= 1024
    return (
        present(int(norm.steps[0]), channel=GRAD_NORM_POST, norm=level(norm.values), bound=bound)
        if fits and large
        else absent(GRAD_NORM_POST)
    )


def _loss_leaps(view: View) -> Observation:
    """One row over 1,000 times the level of the loss, with ordinary rows about it: an overflow in the forward pass.

    A loss that is learnt by heart is next to 0 and has no such level: there its neighbours differ by as much.
    """
    loss = view.finite(LOSS_TRAIN)
    if loss is None or len(loss) < 4:
        return unknown(LOSS_TRAIN)
    middle = view.level(LOSS_TRAIN)
    high = np.nonzero(loss.values > 1000 * middle)[0] if middle > 0 else np.zeros(0, dtype=np.int64)
    calm = loss.values < 10 * middle
    lone = [int(i) for i in high if i + 1 < len(loss) and calm[i + 1] and np.count_nonzero(~calm[max(0, i - 3) : i + 4]) == 1]
    return present(int(loss.steps[lone[0]]), channel=LOSS_TRAIN, value=float(loss.values[lone[0]])) if lone else absent(LOSS_TRAIN)


_SCALE = (LOSS_SCALE, "events.overflow")
DETECTORS = (
    Detector("grad-norm-nonfinite", (GRAD_NORM_PRE,), _norm_nonfinite, "the gradient norm is not finite on {count} of {rows} rows, first at step {start}", "every gradient norm is finite", live=True),
    Detector("grad-norm-nonfinite-now-and-then", (GRAD_NORM_PRE, LOSS_TRAIN), _norm_nonfinite_once, "{count} {count:row|scattered rows} with a non-finite norm (first at step {start}); the loss goes on undisturbed", "the non-finite norms are not just a few scattered rows", thresholds=(_OVERFLOW_RATE,)),
    Detector("loss-scale-collapsed", _SCALE, _scaled(_collapsed), "the loss scale fell {fall} {fall:time|times} in a row without a doubling, to {last:.6g}", "the loss scale did not collapse", live=True),
    Detector("loss-scale-under-one", _SCALE, _scaled(_under_one), "the loss scale went down to {minimum:.4g}", "the loss scale stayed at 1 or above", thresholds=(_SCALE_FLOOR,), live=True),
    Detector("steps-go-on-under-overflow", (*_SCALE, LOSS_TRAIN), _scaled(_goes_on), "the loss falls from {first:.4g} to {last:.4g} meanwhile, with {count} {count:overflow|overflows} in {steps} steps: most steps are applied", "the loss does not go on falling while the scale does"),
    Detector("loss-scale-constant", _SCALE, _scaled(_constant), "the loss scale is {scale:.6g} on every row", "the loss scale moves"),
    Detector("overflow", _SCALE, _scaled(_overflow), "{count} {count:overflow|overflows}, first at step {start}", "no overflow", live=True),
    Detector("overflow-often", _SCALE, _scaled(_late), "{share:.0%} of the steps after start-up overflow", "overflows after start-up are rare", thresholds=(_OVERFLOW_RATE,), live=True),
    Detector("overflow-at-every-step", _SCALE, _scaled(_from_start), "every step in this log overflowed and was skipped (scale down to {last:.6g})", "some steps were applied"),
    Detector("overflow-only-startup", _SCALE, _scaled(_startup), "{count} {count:overflow|overflows} while the scaler looked for its level; the scale then holds at {last:.6g}", "no overflows end with the start-up of the scaler", thresholds=(_OVERFLOW_RATE,)),
    Detector("loss-scale-ignores-overflow", (*_SCALE, GRAD_NORM_PRE), _scaled(_constant_with_overflow), "the loss scale stays at {scale:.6g} through {count} overflows", "no overflows leave the loss scale where it was"),
    Detector("norm-is-the-loss-scale", (GRAD_NORM_PRE, LOSS_SCALE), _norm_is_scaled, "the gradient norm, {norm:.6g}, is of the size of a loss scale: it is measured on scaled gradients", "the gradient norm does not look like a loss scale"),
    Detector("norm-thousands-over-clip", (GRAD_NORM_PRE, GRAD_NORM_POST, LOSS_TRAIN), _thousands_over_clip, "the gradient norm, about {norm:.3g}, is over 1,000 times what clipping leaves ({clip:.3g}) all along, and the loss stands", "no norm of thousands of times what clipping leaves stands beside a loss that does not move", "log the norm after clipping as well, or put the clip into manifest.json"),
    Detector("clip-bounds-scaled-norm", (GRAD_NORM_POST, LOSS_SCALE), _clip_bounds_scaled, "after clipping the gradient norm is {norm:.3g}, which times the loss scale is the bound of the clip, {bound:.3g}", "the clip does not bound scaled gradients"),
    Detector("loss-leaps-for-one-row", (LOSS_TRAIN,), _loss_leaps, "the loss leaps to {value:.4g} at step {start} and is ordinary again in the next row", "no single row leaps a thousandfold"),
)  # fmt: skip
