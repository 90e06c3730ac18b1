"""Signals that put two channels together: a failure and the LR at it, a level and the kind of model."""

from __future__ import annotations

import numpy as np

from sismo.records.channels import GRAD_NORM_PRE, LOSS_TRAIN, LOSS_VAL, LR
from sismo.records.types import Series
from sismo.signals.kind import TOKENS, language_sign, names, without_vocabulary
from sismo.signals.levels import end_level, finite, level, part_ends
from sismo.signals.trend import block_means, mann_kendall
from sismo.signals.types import Detector, Observation, absent, present, unknown
from sismo.signals.view import View

_BY_HEIGHT = 0.7
_CHARACTERS = 3.9
_APART = 0.2
"""Validation over training loss, in nats, from which a model memorises rather than sees the future (measured on a broken mask)."""


def _falls(view: View) -> Observation:
    """The loss ends 5 % or more under its start, significantly where there are rows enough to say."""
    loss = view.finite(LOSS_TRAIN)
    if loss is None or len(loss) < 3:
        return unknown(LOSS_TRAIN)
    first, last = level(loss.values[: max(1, len(loss) // 20)]), end_level(loss) if len(loss) >= 10 else float(loss.values[-1])
    blocks = block_means(loss.values, 40)
    surely = len(loss) < 8 or mann_kendall(blocks) < -1.96
    fell = (first - last) / abs(first) if first else 0.0
    found = present(int(loss.steps[0]), int(loss.steps[-1]), channel=LOSS_TRAIN, first=first, last=last)
    return found if fell > 0.05 and surely else absent(LOSS_TRAIN)


def _falls_to_the_end(view: View) -> Observation:
    """Over the last quarter the loss still falls, significantly and by over 3 %."""
    loss = view.finite(LOSS_TRAIN)
    if loss is None or len(loss) < 40:
        return unknown("more rows of loss/train")
    late = loss.values[-len(loss) // 4 :]
    blocks = block_means(late, 20)
    fell = (blocks[0] - blocks[-1]) / abs(blocks[0]) if blocks[0] else 0.0
    found = present(int(loss.steps[-late.size]), int(loss.steps[-1]), channel=LOSS_TRAIN)
    return found if fell > 0.03 and mann_kendall(blocks) < -2.5 else absent(LOSS_TRAIN)


def _val_falls_in_window(view: View) -> Observation:
    """Two evaluations or more inside the window of the rise, and the last is not above the first: the data got harder, not the model worse."""
    trend, val = view.trend(LOSS_TRAIN), view.finite(LOSS_VAL)
    if val is None:
        return unknown(LOSS_VAL)
    if trend is None:
        return unknown("200 steps of loss")
    if trend.rise <= 0:
        return absent(LOSS_VAL)
    inside = val.values[(val.steps >= trend.start) & (val.steps <= trend.end)]
    if inside.size < 2:
        return unknown("two evaluations after step {at}", at=trend.start)
    found = present(trend.start, trend.end, channel=LOSS_VAL, first=float(inside[0]), last=float(inside[-1]))
    return found if float(inside[-1]) < float(inside[0]) else absent(LOSS_VAL)


def _fp16_norm(view: View) -> Observation:
    """Non-finite norms in a run that is known to be in fp16, or has a scaler at work, beyond what a scaler's search explains."""
    norm, scale = view.series(GRAD_NORM_PRE), view.scale()
    if norm is None:
        return unknown(GRAD_NORM_PRE)
    half = view.header.dtype == "fp16" or (scale is not None and not scale.placeholder)
    bad = np.nonzero(~np.isfinite(norm.values))[0]
    if not bad.size:
        return absent(GRAD_NORM_PRE)
    if not half:
        return unknown("the run's dtype") if view.header.dtype is None else absent(GRAD_NORM_PRE)
    return present(int(norm.steps[bad[0]]), channel=GRAD_NORM_PRE, count=int(bad.size))


def _fp16_loss(view: View) -> Observation:
    """A lost loss in a run that is known to be in fp16: S1.Q2 takes it for an overflow until something speaks against it."""
    if not view.rows(LOSS_TRAIN):
        return unknown(LOSS_TRAIN)
    step = _failure(view)
    if step is None:
        return absent(LOSS_TRAIN)
    if view.header.dtype is None:
        return unknown("the run's dtype")
    return present(step, channel=LOSS_TRAIN) if view.header.dtype == "fp16" else absent(LOSS_TRAIN)


def _failure(view: View) -> int | None:
    loss = view.series(LOSS_TRAIN)
    if loss is None:
        return None
    bad = np.nonzero(~np.isfinite(loss.values))[0]
    return int(loss.steps[bad[0]]) if bad.size else None


def _runup_as_lr_rises(view: View) -> Observation:
    """The loss is lost while the LR climbs, at half of its peak or more, and after the norm or the loss grew."""
    if not view.rows(LOSS_TRAIN):
        return unknown(LOSS_TRAIN)
    step, lr = _failure(view), view.finite(LR)
    if step is None:
        return absent(LOSS_TRAIN)
    if lr is None or not len(lr):
        return unknown(LR)
    earlier = lr.values[lr.steps <= step]
    if earlier.size < 5:
        return absent(LR)
    climbing = float(earlier[-1]) > 1.02 * float(earlier[-min(20, earlier.size)])
    high = float(earlier[-1]) >= 0.5 * float(lr.values.max())
    grew = False
    for channel in (LOSS_TRAIN, GRAD_NORM_PRE):
        series = view.finite(channel)
        rows = series.values[series.steps < step] if series is not None else np.zeros(0)
        before = rows[-30:-1]
        leapt = rows.size >= 5 and float(rows[-1]) > 1.5 * float(before.max()) > 0
        grew = grew or leapt or (rows.size >= 5 and level(rows[-3:]) > 1.5 * level(rows[-30:-3]) > 0)
    found = present(step, channel=LR, lr=float(earlier[-1]))
    return found if climbing and high and grew else absent(LR)


def _diverges_as_lr_rises(view: View) -> Observation:
    """While the LR only rises the loss ends above where it began, and the norm at ten times what it was when the loss was lowest.

    Ten times is the run-up of a gradient that explodes (the catalogue's ``exploding-gradients``).
    """
    loss, lr, norm, schedule = view.finite(LOSS_TRAIN), view.finite(LR), view.finite(GRAD_NORM_PRE), view.schedule()
    for channel, series in ((LOSS_TRAIN, loss), (LR, lr), (GRAD_NORM_PRE, norm)):
        if series is None or not len(series):
            return unknown(channel)
    if loss is None or lr is None or norm is None or schedule is None or not schedule.only_rises or schedule.constant or len(loss) < 20:
        return absent(LOSS_TRAIN)
    few = max(3, len(loss) // 20)
    lowest = int(part_ends(len(loss), 20)[np.argmin(view.parts(LOSS_TRAIN, 20))])
    step = int(loss.steps[lowest])
    before, after = norm.values[norm.steps <= step][-few:], norm.values[-few:]
    up = level(loss.values[-few:]) > level(loss.values[:few]) > 0
    grown = before.size > 0 and level(after) > 10 * level(before) > 0
    found = present(step, int(loss.steps[-1]), channel=LOSS_TRAIN, lowest=float(loss.values[lowest]), last=level(loss.values[-few:]))
    return found if up and grown else absent(LOSS_TRAIN)


def _lost_late_at_high_lr(view: View) -> Observation:
    """Lost before the first logged row, at an LR of 1 or more."""
    loss, lr = view.series(LOSS_TRAIN), view.finite(LR)
    if loss is None or not len(loss):
        return unknown(LOSS_TRAIN)
    if lr is None or not len(lr):
        return unknown(LR)
    lost = not np.isfinite(loss.values[0]) and int(loss.steps[0]) > 1
    return present(int(loss.steps[0]), channel=LR, lr=float(lr.values[0])) if lost and float(lr.values[0]) >= 1 else absent(LR)


def _val_explodes_as_lr_rises(view: View) -> Observation:
    """The validation loss leaps threefold in one evaluation while the norm leaps tenfold, at an LR near its peak; or it does so twice."""
    val, lr = view.series(LOSS_VAL), view.finite(LR)
    if val is None:
        return unknown(LOSS_VAL)
    if lr is None or not len(lr):
        return unknown(LR)
    clean, norm = finite(val), view.finite(GRAD_NORM_PRE)
    if norm is None:
        return unknown(GRAD_NORM_PRE)
    leaps: list[int] = []
    jumps = np.nonzero((clean.values[1:] > 2.5 * clean.values[:-1]) & (clean.values[:-1] > 0))[0]
    for place in jumps[:200].tolist():
        before, now, step = float(clean.values[place]), float(clean.values[place + 1]), int(clean.steps[place + 1])
        rate = lr.at(step)
        size = norm.at(step)
        usual = level(norm.values[norm.steps < step])
        if (
            now > 2.5 * before > 0
            and rate is not None
            and rate > 0.5 * float(lr.values.max())
            and size is not None
            and size > 10 * usual > 0
        ):
            leaps.append(step)
    return present(leaps[0], leaps[-1], channel=LOSS_VAL, count=len(leaps)) if leaps else absent(LOSS_VAL)


def _language_near_zero(view: View) -> Observation:
    """A language model's loss under 0.1 nat a token from 5 or more: text does not allow it, within fewer than 8 passes.

    A validation loss, where there is one, has to be near it: a broken mask shows on both.
    """
    loss = view.finite(LOSS_TRAIN)
    if loss is None or len(loss) < 5:
        return unknown(LOSS_TRAIN)
    epoch = view.finite("epoch")
    passes = float(epoch.values[-1]) if epoch is not None and len(epoch) else 0.0
    first, last = float(loss.values[:3].max()), end_level(loss)
    below = np.nonzero(loss.values < 0.1)[0]
    val = view.finite(LOSS_VAL)
    apart = val is not None and len(val) > 0 and (end_level(val) - last >= _APART or _late(loss, val))  # then it memorises
    found = bool(language_sign(view)) and first >= 5 and 0 < last < 0.1 and passes < 8 and below.size and not apart
    if not found:
        return absent(LOSS_TRAIN)
    return present(int(loss.steps[below[0]]), int(loss.steps[-1]), strength=_clearly(view), channel=LOSS_TRAIN, first=first, last=last)


def _clearly(view: View) -> float:
    """How clear it is that tokens are predicted: a first loss of that height is also that of a classification of a thousand classes."""
    return 1.0 if language_sign(view) in ("vocabulary", "perplexity") or names(view, *TOKENS) else _BY_HEIGHT


def _language_both(view: View) -> Observation:
    """Training and validation loss both under 0.1 and close together, in a language model or from 5 nats (148 classes) and more.

    Where tokens are counted 3.9 nats are enough, ln of the 50 letters and signs that the smallest texts of characters have. A model that was recorded, and has no vocabulary, began at 5 nats because it had learnt something else.
    """
    loss, val = view.finite(LOSS_TRAIN), view.finite(LOSS_VAL)
    if loss is None or val is None or not len(loss) or not len(val):
        return unknown(LOSS_TRAIN if loss is None else LOSS_VAL)
    train, valid = end_level(loss), float(val.values[-1])
    near = 0 <= train < 0.1 and 0 <= valid < 0.1 and valid <= 1.5 * train + 0.05 and not _late(loss, val)
    least = _CHARACTERS if names(view, *TOKENS) else 5
    wide = bool(language_sign(view)) or (not without_vocabulary(view) and float(loss.values[0]) >= least and not view.family("loss_term"))
    found = present(int(val.steps[-1]), strength=_clearly(view), channel=LOSS_VAL, train=train, val=valid)
    return found if wide and near else absent(LOSS_VAL)


def _late(loss: Series, val: Series) -> bool:
    """Whether the validation loss was still over 1 nat at some evaluation by which the training loss was under 0.1: it learnt later."""
    below = np.nonzero(loss.values < 0.1)[0]
    return below.size > 0 and bool(np.any(val.values[val.steps > int(loss.steps[below[0]])] > 1.0))


def _lost_first(view: View) -> Observation:
    """The norm is lost within the first five rows."""
    norm = view.series(GRAD_NORM_PRE)
    if norm is None or not len(norm):
        return unknown(GRAD_NORM_PRE)
    bad = np.nonzero(np.isnan(norm.values))[0]
    return present(int(norm.steps[bad[0]]), channel=GRAD_NORM_PRE) if bad.size and bad[0] < 5 else absent(GRAD_NORM_PRE)


def _lost_under_a_finite_loss(view: View) -> Observation:
    """The gradient of the first step is not finite and its loss is, in a wide dtype: what is lost is lost on the way back.

    In half precision it would be an overflow of the scaled loss, for which a scaler leaves the step out.
    """
    norm, loss = view.series(GRAD_NORM_PRE), view.series(LOSS_TRAIN)
    if norm is None or loss is None or not len(norm):
        return unknown(GRAD_NORM_PRE if loss is not None else LOSS_TRAIN)
    step = int(norm.steps[0])
    sound = loss.at(step)
    if step > 1 or np.isfinite(norm.values[0]) or sound is None or not np.isfinite(sound):
        return absent(GRAD_NORM_PRE)
    if view.header.dtype is None:
        return unknown("the run's dtype")
    wide = view.header.dtype != "fp16" and view.scale() is None
    lost = not np.isfinite(loss.values[loss.steps > step][:1]).any()
    return present(step, channel=GRAD_NORM_PRE, loss=sound) if wide and lost else absent(GRAD_NORM_PRE)


def _boxes(view: View) -> Observation:
    terms = {series.channel.partition("/")[2].lower() for series in [*view.family("loss_term"), *view.family("loss_term_val")]}
    return present() if any(word in term for term in terms for word in ("box", "dfl", "obj", "iou", "rpn")) else absent("loss_term")


def _single_examples(view: View) -> Observation:
    size = view.header.config.get("batch_size")
    if not isinstance(size, (int, float)):
        return unknown("batch_size in the configuration")
    return present(size=size) if size <= 1 else absent(size=size)


DETECTORS = (
    Detector("loss-falls", (LOSS_TRAIN,), _falls, "the loss falls from {first:.4g} to {last:.4g}", "the loss does not fall over the log"),
    Detector("val-falls-while-loss-rises", (LOSS_TRAIN, LOSS_VAL), _val_falls_in_window, "over the same steps the validation loss goes from {first:.4g} to {last:.4g}", "the validation loss rises over the same steps"),
    Detector("fp16-norm-nonfinite", (GRAD_NORM_PRE, "header.dtype"), _fp16_norm, "{count} {count:gradient norm of this half-precision run is|gradient norms of this half-precision run are} not finite", "no non-finite gradient norm in half precision", "say the dtype in the log or in manifest.json (fp32, fp16, bf16)"),
    Detector("fp16-loss-nonfinite", (LOSS_TRAIN, "header.dtype"), _fp16_loss, "the loss of an fp16 run is not finite from step {start}", "no loss is lost in fp16", "say the dtype in the log or in manifest.json (fp32, fp16, bf16)"),
    Detector("loss-falls-to-the-end", (LOSS_TRAIN,), _falls_to_the_end, "the training loss still falls at the end of the log", "the training loss has stopped falling"),
    Detector("runup-as-lr-rises", (LOSS_TRAIN, LR), _runup_as_lr_rises, "the loss is lost at step {start} while the LR climbs, at {lr:.3g}", "the loss is not lost while the LR climbs"),
    Detector("diverges-as-lr-rises", (LOSS_TRAIN, LR, GRAD_NORM_PRE), _diverges_as_lr_rises, "from step {start} on the loss goes from {lowest:.4g} to {last:.4g} and the gradient norm grows over tenfold, while the LR rises", "the loss does not diverge as the LR rises"),
    Detector("lost-late-at-lr-over-one", (LOSS_TRAIN, LR), _lost_late_at_high_lr, "by the first logged row, step {start}, the loss is lost, at an LR of {lr:.3g}", "the loss is not lost at such an LR"),
    Detector("val-explodes-as-lr-rises", (LOSS_VAL, LR, GRAD_NORM_PRE), _val_explodes_as_lr_rises, "the validation loss leaps with the gradient norm at step {start}, at an LR near its peak ({count} {count:time|times})", "the validation loss does not leap with the norm"),
    Detector("language-loss-near-zero", (LOSS_TRAIN, "epoch"), _language_near_zero, "a language model goes from {first:.3g} to {last:.3g} nats, under what text allows", "no language model with a loss near 0"),
    Detector("language-train-and-val-near-zero", (LOSS_TRAIN, LOSS_VAL), _language_both, "a language model's training and validation loss are both near 0 ({train:.3g} and {val:.3g})", "no language model with both losses near 0"),
    Detector("lost-in-first-steps", (GRAD_NORM_PRE,), _lost_first, "the norm is lost within the first rows (step {start})", "the norm is not lost in the first rows"),
    Detector("gradient-lost-at-first-step", (GRAD_NORM_PRE, LOSS_TRAIN, "header.dtype"), _lost_under_a_finite_loss, "the very first gradient is not finite, and its loss is ({loss:.4g}): it is lost on the way back", "the first gradient is not lost under a finite loss", "say the dtype in the log or in manifest.json (fp32, fp16, bf16)"),
    Detector("eval-of-boxes", ("loss_term",), _boxes, "the loss is that of a detector (boxes)", "not the loss of a detector"),
    Detector("batch-of-one", ("header.config",), _single_examples, "batches hold {size:.0f} example", "batches hold {size:.0f} {size:example|examples}", "say the batch size in manifest.json"),
)  # fmt: skip
