"""What the validation loss says beside the training loss."""

from __future__ import annotations

import math

import numpy as np

from sismo.records.channels import LOSS_TRAIN, LOSS_VAL
from sismo.records.types import Series
from sismo.signals.kind import TOKENS, classes, language_sign, names, without_vocabulary
from sismo.signals.levels import UNIT, end_level, finite, level, noise, wander
from sismo.signals.trend import mann_kendall
from sismo.signals.types import Detector, Observation, State, Threshold, absent, present, unknown
from sismo.signals.view import View

_RISE = Threshold("overfit-rise", 0.03, 0.03, "share", "chosen: over the noise of an evaluation set of some hundred examples", "Rise of the validation loss over its minimum that is called overfitting.")  # fmt: skip
_CLEAR = Threshold("overfit-clear", 0.10, 0.10, "share", "catalogue: warning past 10 %; SageMaker Debugger uses the same ratio", "Rise of the validation loss over its minimum that is worth a warning.")  # fmt: skip
_FACTOR = Threshold("train-over-val", 2.5, 2.5, "×", "chosen: dropout and augmentation explain up to about 2", "Training loss over validation loss that a reduction must explain.")  # fmt: skip

_TOP_ONE = ("acc1", "acc@1", "acc_1", "top1", "top-1", "top_1", "prec@1", "prec1")
"""Names of the accuracy of an image classifier."""
_GUESS = 1.5
"""Times the uniform guess that the first loss of an honest model stays under."""
_ROWS_AROUND = 8
_MOST_PAIRS = 1000
_FEWEST_NATS = 1.5
"""First loss from which two losses near 0 mean a leak: below it stand squared errors and easy two-class tasks, which get there honestly."""
_EASY = 0.25
_DOUBT = 1.64
"""Mann-Kendall z of a rise that noise alone makes in 1 of 20 logs."""


def _val(view: View) -> Series | None:
    """The validation loss with the most to say: the overall one, else the first named set with enough rows."""
    candidates = [view.series(LOSS_VAL), *view.family("loss_val")]
    found = [finite(series) for series in candidates if series is not None]
    return next((series for series in found if len(series) >= 2), None)


def _pairs(view: View) -> list[tuple[int, float, float]]:
    """(step, training level since the last evaluation, validation loss) for every evaluation that has training rows before it."""
    loss, val = view.finite(LOSS_TRAIN), _val(view)
    if loss is None or val is None:
        return []
    every = max(1, len(val) // _MOST_PAIRS)  # an evaluation at every step needs no more than that to be judged
    steps, values = val.steps[every - 1 :: every], val.values[every - 1 :: every]
    ends = np.searchsorted(loss.steps, steps, side="right").tolist()
    pairs: list[tuple[int, float, float]] = []
    start = 0
    for step, value, end in zip(steps.tolist(), values.tolist(), ends, strict=True):
        if end > start:
            pairs.append((step, level(loss.values[max(start, end - 50) : end]), value))
        start = end
    return pairs


def _rise(view: View) -> tuple[Series, int, float] | Observation:
    """(validation series, index of its minimum, relative rise at the end over it) or why it cannot be told."""
    val = _val(view)
    if val is None:
        return unknown(LOSS_VAL)
    if len(val) < 3:
        return unknown("more validation rows")
    low = int(np.argmin(val.values))
    rest = val.values[low + 1 :]
    if not rest.size or val.values[low] <= 0:
        return absent(val.channel)
    ends = level(rest[-3:]) if rest.size >= 3 else float(rest.min())
    # The lowest of many noisy rows is low by luck: with rows enough, the level around it is what the end is compared with.
    lucky = len(val) >= _ROWS_AROUND and not _train_far_below(view, ends)
    around = level(val.values[max(0, low - 1) : low + 2]) if lucky else float(val.values[low])
    return val, low, ends / around - 1


def _train_far_below(view: View, val: float) -> bool:
    """Whether training ends at under a tenth of the validation loss: the data is memorised, and a rise needs less proof."""
    loss = view.finite(LOSS_TRAIN)
    return loss is not None and len(loss) > 0 and end_level(loss) < 0.1 * val


def _train_fell(view: View, step: int) -> bool:
    """Whether the training loss went on falling after a step, by 5 % or more."""
    loss = view.finite(LOSS_TRAIN)
    if loss is None or not len(loss):
        return False
    around = loss.values[loss.steps <= step][-5:]
    then = level(around) if around.size else float(loss.values[0])
    return end_level(loss) < 0.95 * then


def _overfits(view: View) -> Observation:
    return _overfit(view, view.limit("overfit-rise"))


def _overfits_clearly(view: View) -> Observation:
    return _overfit(view, view.limit("overfit-clear"))


def _overfit(view: View, enough: float) -> Observation:
    found = _rise(view)
    if isinstance(found, Observation):
        return found
    val, low, rise = found
    rest = val.values[low + 1 :]
    rough = noise(val.values[low:]) / float(val.values[low])
    lasting = int(np.count_nonzero(rest > float(val.values[low]) * (1 + enough / 3))) >= 0.8 * rest.size
    doubt = 1.0 if _train_far_below(view, level(rest[-3:])) else _DOUBT
    lost = level(rest[-3:]) - float(val.values[low])
    calm = doubt < _DOUBT or lost > 2 * wander(val.values[: low + 1])  # it did not swing as far before, up and down again
    trend = calm and _climbs(val.values[low:], rise) if rest.size < 5 else mann_kendall(val.values[low:][-200:]) > doubt
    slight = lost < 0.01 * (float(val.values[0]) - float(val.values[low]))  # of what was won
    if slight or rise < max(enough, 2 * rough if rest.size >= 5 else 0.0) or not (lasting and trend):
        return absent(val.channel, rise=rise)
    if not view.rows(LOSS_TRAIN):
        return unknown(LOSS_TRAIN)
    if not _train_fell(view, int(val.steps[low])) or _far_under_train(view, level(rest[-3:])):
        return absent(val.channel, rise=rise)
    step, least, last = int(val.steps[low]), float(val.values[low]), level(rest[-3:])
    return present(step, int(val.steps[-1]), channel=val.channel, rise=last / least - 1, least=least, last=last)


def _far_under_train(view: View, last: float) -> bool:
    """Whether validation ends under a quarter of a training loss that is no multiple of what it is: mixed examples are learnt, which are
    hard, and whole ones are easy. How sure the model is of these comes and goes.
    """
    train = view.finite(LOSS_TRAIN)
    if train is None or not len(train) or not 0 < last < _EASY * end_level(train):
        return False
    return _starts_at_guess(view) or _starts_under_any_guess(view, end_level(train) / last)


def _climbs(values: np.ndarray, rise: float) -> bool:
    """Whether the few rows from the minimum on climb without a break, or to a quarter over it: too few for a test of trend.

    One row after the minimum has to climb 15 % by itself: it climbs without a break whatever it does.
    """
    least = 0.15 if values.size == 2 else 0.05
    return rise > 0.25 or (rise > least and bool(np.all(np.diff(values) > 0)))


def _falls_while_train_rises(view: View) -> Observation:
    """Training loss up, validation loss down: a task that gets harder, not a run that gets worse."""
    pairs = _pairs(view)
    if len(pairs) < 3:
        return unknown(LOSS_VAL)
    train, val = np.array([p[1] for p in pairs]), np.array([p[2] for p in pairs])
    third = max(1, len(pairs) // 3)
    up = level(train[-third:]) > 1.1 * level(train[:third])
    down = level(val[-third:]) < 0.95 * level(val[:third])
    return present(pairs[0][0], pairs[-1][0], channel=LOSS_VAL, first=val[0], last=val[-1]) if up and down else absent(LOSS_VAL)


def _val_falls(view: View) -> Observation:
    """The validation loss goes on improving: its best value lies in the last third."""
    val = _val(view)
    if val is None or len(val) < 4:
        return unknown(LOSS_VAL)
    best = int(np.argmin(val.values))
    good = best >= 2 * len(val) // 3 and float(val.values[best]) < 0.98 * float(val.values[0])
    return present(int(val.steps[best]), channel=val.channel, best=float(val.values[best])) if good else absent(val.channel)


def _val_flat(view: View) -> Observation:
    val = _val(view)
    if val is None or len(val) < 4:
        return unknown(LOSS_VAL)
    late = val.values[len(val) // 2 :]
    still = abs(level(late[-2:]) - level(late[:2])) < 0.01 * abs(level(late))
    return (
        present(int(val.steps[len(val) // 2]), int(val.steps[-1]), channel=val.channel, level=level(late)) if still else absent(val.channel)
    )


def _nonfinite(view: View) -> list[Observation]:
    """One observation per validation channel that has non-finite rows."""
    found: list[Observation] = []
    for series in [view.series(LOSS_VAL), *view.family("loss_val"), *view.family("loss_term_val")]:
        if series is None or not len(series):
            continue
        bad = ~np.isfinite(series.values)
        if bool(bad.any()):
            step = int(series.steps[int(np.argmax(bad))])
            found.append(present(step, channel=series.channel, count=int(bad.sum()), rows=len(series), every=float(bad.all())))
    return found


def _train_clean(view: View) -> bool:
    loss = view.series(LOSS_TRAIN)
    return loss is not None and len(loss) > 0 and bool(np.isfinite(loss.values).all())


def _val_lost(view: View) -> Observation:
    """Every row of a validation loss is non-finite, or every row from one on, while every training row is finite."""
    if view.series(LOSS_VAL) is None and not view.family("loss_val"):
        return unknown(LOSS_VAL)
    if view.series(LOSS_TRAIN) is None:
        return unknown(LOSS_TRAIN)
    lost = [o for o in _nonfinite(view) if o.numbers["every"] and not o.channel.startswith("loss_term_val")]
    return lost[0] if lost and _train_clean(view) else absent(LOSS_VAL)


def _val_lost_briefly(view: View) -> Observation:
    if view.series(LOSS_VAL) is None and not view.family("loss_val"):
        return unknown(LOSS_VAL)
    brief = [o for o in _nonfinite(view) if not o.numbers["every"]]
    return brief[0] if brief and _train_clean(view) else absent(LOSS_VAL)


def _train_over_val(view: View) -> Observation:
    """Training loss a steady multiple of the validation loss at every evaluation; not of sums over whole sets, which differ in size.

    Recipes of image classifiers mix images up and smooth labels in training only, which makes it 3 or 4 times as large.
    """
    pairs = _pairs(view)
    if len(pairs) < 2:
        return unknown(LOSS_VAL)
    if view.objective is not None or view.family("loss_term") or names(view, *_TOP_ONE) or _starts_at_guess(view):
        return absent(LOSS_VAL)
    ratios = np.array([train / val for _, train, val in pairs if val > 0])
    if ratios.size < 2 or float(ratios.min()) < view.limit("train-over-val") or level(np.array([val for _, _, val in pairs])) > 20:
        return absent(LOSS_VAL)
    steady = float(ratios.max()) < 2.5 * float(ratios.min())
    ratio = level(ratios)
    if _starts_under_any_guess(view, ratio):
        return absent(LOSS_VAL)
    return present(pairs[0][0], pairs[-1][0], channel=LOSS_TRAIN, ratio=ratio, count=len(ratios)) if steady else absent(LOSS_VAL)


def _starts_at_guess(view: View) -> bool:
    """Whether the first training loss is no more than the uniform guess: what is a multiple later was none then, as smoothed labels are."""
    loss, count = view.finite(LOSS_TRAIN), classes(view)
    return loss is not None and len(loss) > 0 and count is not None and float(loss.values[0]) < _GUESS * math.log(count)


def _starts_under_any_guess(view: View, ratio: float) -> bool:
    """Whether a loss that is learnt from its start on would have begun, without the factor, under the guess between two classes.

    What stays over the validation loss by smoothed labels or mixed images seems to be a multiple of it once both stand still. Where the
    number of classes is known, the guess itself tells.
    """
    loss = view.finite(LOSS_TRAIN)
    if loss is None or not len(loss) or int(loss.steps[0]) > 2 * loss.interval or classes(view) is not None:
        return False
    first = float(loss.values[0])
    return end_level(loss) < 0.5 * first < 0.5 * ratio * math.log(2)


def _factor_is_accumulation(view: View) -> Observation:
    """The ratio is the configured accumulation to within a quarter."""
    factor = view.header.accumulation
    if factor is None:
        return unknown("the accumulation factor")
    found = _train_over_val(view)
    ratio = found.numbers.get("ratio")
    fits = isinstance(ratio, float) and factor > 1 and abs(ratio / factor - 1) < 0.25
    return present(found.start, channel=LOSS_TRAIN, factor=factor) if fits else absent(LOSS_TRAIN)


def _val_below_train(view: View) -> Observation:
    """Validation under training by over 10 % at three quarters of the evaluations, to the end."""
    pairs = _pairs(view)
    if len(pairs) < 3:
        return unknown(LOSS_VAL)
    under = [val < 0.9 * train for _, train, val in pairs if train > 0]
    ratio = level(np.array([val / train for _, train, val in pairs[-3:] if train > 0]))
    always = len(under) >= 3 and sum(under) >= 0.75 * len(under) and under[-1]
    return present(pairs[0][0], pairs[-1][0], channel=LOSS_VAL, ratio=ratio) if always else absent(LOSS_VAL)


def _both_tiny(view: View) -> Observation:
    """Training and validation loss both end near 0, and near each other."""
    pairs = _pairs(view)
    if len(pairs) < 2:
        return unknown(LOSS_VAL)
    first = max(pairs[0][1], pairs[0][2])
    _, train, val = pairs[-1]
    tiny = max(train, val) < 0.1 and max(train, val) < 0.05 * max(first, 1.0)
    together = val <= 1.5 * train + min(0.02, 0.5 * train + 0.001)
    step = next((s for s, t, v in pairs if max(t, v) < 0.1), pairs[-1][0])
    return present(step, pairs[-1][0], channel=LOSS_VAL, train=train, val=val) if tiny and together else absent(LOSS_VAL)


def _both_vanish(view: View) -> Observation:
    """Both end under 0.3 % of the start: below what any honest task leaves on unseen data, but for one that is made up to be easy.

    Where it is known that no tokens are predicted, that cannot be told from such a task.
    """
    found = _both_tiny(view)
    pairs = _pairs(view)
    if len(pairs) < 2:
        return found
    _, train, val = pairs[-1]
    first = max(pairs[0][1], pairs[0][2], 1.0)
    gone = max(train, val) < 0.003 * first and max(pairs[0][1], pairs[0][2]) >= _FEWEST_NATS
    gone = gone and not without_vocabulary(view) and min(train, val) < UNIT  # of the squares of large numbers so much is left
    return present(found.start, found.end, channel=LOSS_VAL, train=train, val=val) if gone and found.start is not None else absent(LOSS_VAL)


def _solvable(view: View) -> Observation:
    """Both vanish and nothing tells of text: copying or reversing a sequence, or another task with one right answer, ends there honestly."""
    found = _both_vanish(view)
    if found.state is not State.PRESENT:
        return found
    return absent(LOSS_TRAIN) if language_sign(view) or names(view, *TOKENS) else present(found.start, channel=LOSS_VAL)


def _near_zero(view: View) -> Observation:
    """The training loss ends under 0.1 and under a tenth of its start, from a start that a classification has (0.5 and up)."""
    loss = view.finite(LOSS_TRAIN)
    if loss is None or len(loss) < 5:
        return unknown(LOSS_TRAIN)
    first, last = float(np.max(loss.values[: max(1, len(loss) // 50)])), end_level(loss)
    if view.objective is not None or view.family("loss_term") or last < 0:
        return absent(LOSS_TRAIN)
    below = np.nonzero(loss.values < 0.1)[0]
    small = first >= 0.5 and last < 0.1 and last < 0.1 * first and below.size
    return (
        present(int(loss.steps[below[0]]), int(loss.steps[-1]), channel=LOSS_TRAIN, first=first, last=last) if small else absent(LOSS_TRAIN)
    )


def _no_val(view: View) -> Observation:
    return present() if _val(view) is None else absent(LOSS_VAL)


def _many_epochs(view: View) -> Observation:
    epoch = view.finite("epoch")
    last = float(epoch.values[-1]) if epoch is not None and len(epoch) else None
    if last is None:
        return unknown("epoch")
    return present(channel="epoch", epochs=last) if last >= 8 else absent("epoch", epochs=last)


_BOTH = (LOSS_TRAIN, LOSS_VAL)
DETECTORS = (
    Detector("val-rises-after-minimum", _BOTH, _overfits, "the validation loss is lowest at step {start} ({least:.4g}) and ends at {last:.4g}, {rise:+.0%}, while training goes on falling", "the validation loss does not rise for good after its minimum", thresholds=(_RISE,)),
    Detector("val-rises-clearly", _BOTH, _overfits_clearly, "that rise, {rise:+.0%}, is past 10 %", "the rise is under 10 %", thresholds=(_CLEAR,)),
    Detector("val-falls-while-train-rises", _BOTH, _falls_while_train_rises, "the validation loss falls from {first:.4g} to {last:.4g} while the training loss rises", "training and validation do not part that way"),
    Detector("val-still-improves", (LOSS_VAL,), _val_falls, "the validation loss is still improving (best {best:.4g} at step {start})", "the validation loss does not improve any more"),
    Detector("val-flat", (LOSS_VAL,), _val_flat, "the validation loss stands too, at {level:.4g}", "the validation loss moves"),
    Detector("val-nonfinite-throughout", _BOTH, _val_lost, "{channel} is not finite on all {rows} rows (first at step {start}), while every training row is finite", "it is not the validation loss alone that is lost"),
    Detector("val-nonfinite-briefly", _BOTH, _val_lost_briefly, "{channel} is not finite on {count} of {rows} rows (first at step {start}) and finite on the others", "no passing loss of the validation loss"),
    Detector("train-multiple-of-val", _BOTH, _train_over_val, "the training loss is {ratio:.2f}× the validation loss over {count} {count:evaluation|evaluations}", "training and validation loss are of one size", thresholds=(_FACTOR,)),
    Detector("ratio-is-accumulation", ("header.accumulation",), _factor_is_accumulation, "which is the accumulation factor, {factor}", "the ratio is not the accumulation factor", "say gradient_accumulation_steps in manifest.json"),
    Detector("val-below-train", _BOTH, _val_below_train, "the validation loss lies below the training loss all along ({ratio:.2f}× at the end)", "the validation loss does not lie below the training loss"),
    Detector("train-and-val-near-zero", _BOTH, _both_tiny, "training and validation loss both end near 0 ({train:.3g} and {val:.3g})", "training and validation loss are not both near 0"),
    Detector("train-and-val-vanish", _BOTH, _both_vanish, "training and validation loss are both under 0.3 % of their start ({train:.3g} and {val:.3g})", "training and validation loss do not vanish"),
    Detector("losses-vanish-without-text", _BOTH, _solvable, "nothing in the log says that it is text: where each input has one right answer, both losses get there honestly", "no sign of a task with one right answer, where both losses may vanish honestly"),
    Detector("train-near-zero", (LOSS_TRAIN,), _near_zero, "the training loss falls from {first:.3g} to {last:.3g}", "the training loss does not end near 0"),
    Detector("no-validation", (LOSS_VAL,), _no_val, "no validation loss is logged", "a validation loss is logged"),
    Detector("many-epochs", ("epoch",), _many_epochs, "the run goes through the data {epochs:.3g} times", "{epochs:.3g} epochs"),
)  # fmt: skip
