"""Whether the training loss falls, stands or rises, over the whole log and at its end."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sismo.records.channels import GRAD_NORM_PRE, LOSS_TRAIN, LOSS_VAL
from sismo.records.types import Series, Values
from sismo.signals.baseline import widening
from sismo.signals.kind import PER_TOKEN, classes, language_sign, names
from sismo.signals.levels import UNIT, end_level, level, noise, part_levels, wander
from sismo.signals.numerals import digits
from sismo.signals.trend import Trend, block_means, mann_kendall, recent_trend, strictly_rising, whole_trend
from sismo.signals.types import Detector, Observation, State, Threshold, absent, present, unknown
from sismo.signals.view import View

_TREND_STEPS = Threshold(
    "trend-steps", 200, 200, "step", "stability tree, S4.Q1", "Window at the end of the log in which a rise is looked for."
)
_TREND_Z = Threshold(
    "trend-z", 1.96, 1.96, "σ", "measured: Mann-Kendall on 20 block means, no false alarm", "Significance of a rise (Mann-Kendall z)."
)
_TREND_RISE = Threshold(
    "trend-rise", 0.05, 0.0, "share", "measured: Theil-Sen rise over 5 % in 200 steps", "Size of a rise over the window."
)
_STRICT = Threshold("trend-strict", 0, 1, "flag", "stability tree: monotone; measured: the longest strictly rising streak of any run was 9", "1 asks for a strictly monotone rise, 0 for a significant one.")  # fmt: skip
_CHANCE = Threshold("chance-tolerance", 0.015, 0.015, "share", "chosen: a loss within 1.5 % of ln k carries under 1 % of a bit of skill at k = 2", "How near a loss must stay to ln k to count as chance.")  # fmt: skip
_UNTRAINED = math.log(100)
"""Nats a token: what a model of language is over before it has learnt the commonest words, and under after."""
_CLASSES = (2, 3, 4, 5, 10, 100, 1000)
_NOTHING, _FIVE = 1e-3, 0.2
"""A first row over the last level: under this it began at next to nothing, under that the level is five times as high."""
_SLOWEST, _FASTEST, _FALLS = 0.25, 1.6, 0.15
"""A norm over the sum of as many gradients like the first, at its start and at its end; share of rows under the row before. Measured on 26
loops without zero_grad: 0.27 to 1.0, 0.2 to 1.3, and no row but where batches of 8 are regressed; on 6 healthy models that leave their start
in a line 0.16 to 0.8, 0.1 to 2.2, and 0.24 to 0.41."""
_SCHOOLING = 49
"""Steps after the first within which even a sound model may stay at the guess."""
_DESCENDS = 0.7
"""Share of the level of ten rows under which the next ten are in a steep descent."""
_SPARSE_Z = 3.3
"""With under 10 rows a block the rows themselves are the blocks: one-sided p = 0.0005 keeps false alarms rare (docs/measured.md)."""


def _enough(view: View, rows: int) -> Series | Observation:
    loss = view.finite(LOSS_TRAIN)
    if loss is None or not len(loss):
        return unknown(LOSS_TRAIN)
    return loss if len(loss) >= rows else unknown("more rows of loss/train", rows=len(loss))


def _rising(view: View) -> Observation:
    loss = _enough(view, 20)
    if isinstance(loss, Observation):
        return loss
    steps = int(view.limit("trend-steps"))
    if view.limit("trend-strict"):
        strict = strictly_rising(loss, steps)
        if strict is None:
            return unknown("{steps} steps of loss", steps=steps)
        return (
            present(int(loss.steps[-1]) - steps, int(loss.steps[-1]), channel=LOSS_TRAIN, rise=float("nan"), z=float("nan"))
            if strict
            else absent(LOSS_TRAIN, z=0.0)
        )
    trend = view.trend(LOSS_TRAIN)
    if trend is None:
        return unknown("{steps} steps of loss", steps=steps)
    # A log with one row in many steps shows too little of a rise in so few of them: there the window is a quarter, half and all of as many rows.
    wider = (recent_trend(loss, int(steps * loss.interval * share)) for share in (0.25, 0.5, 1.0) if loss.interval > 1)
    for found in (trend, *wider):
        if found is not None and _is_real(view, loss, found):
            return present(found.start, found.end, channel=LOSS_TRAIN, rise=found.rise, z=found.z)
    return absent(LOSS_TRAIN, z=trend.z)


def _is_real(view: View, loss: Series, trend: Trend) -> bool:
    """Whether a rise is significant, large, steady over all four quarters, and more than the noise of this run does and undoes."""
    inside = loss.values[loss.steps >= trend.start]
    dense = inside.size >= 10 * trend.points
    significant = trend.z > max(view.limit("trend-z"), 1.96 if dense else _SPARSE_Z) and trend.rise > view.limit("trend-rise")
    quarter = max(2, inside.size // 4)
    lifted = level(inside[-quarter:]) - level(inside[:quarter])
    usual = _largest_lift(loss, inside.size)
    stairs = part_levels(inside, 4)
    steady = all(later > earlier for earlier, later in pairwise(stairs))
    least = max(1.5 * noise(inside) / quarter**0.5, 1.5 * usual, _drift(loss.values[: len(loss) - inside.size], quarter))
    return significant and steady and lifted > least and abs(level(inside)) > 1e-3


def _drift(earlier: np.ndarray, quarter: int) -> float:
    """What the difference of two levels may come to by noise that has a memory, at p = 0.0005: from the rows before, in stretches as long.

    0 where there are fewer than ten levels.
    """
    count = min(20, earlier.size // quarter)
    if count < 10:
        return 0.0
    levels = np.array([level(part) for part in earlier[earlier.size - count * quarter :].reshape(count, quarter)])
    return _SPARSE_Z * widening(_SPARSE_Z, count // 2) * 2**0.5 * wander(levels)


def _largest_lift(loss: Series, rows: int) -> float:
    """What the level rose by, at most, in the ten stretches of that length before the last: what the noise of this run does and undoes.

    A rise counts only as far as it was undone before the last stretch, or a run that has been rising for long would seem to do so by nature.
    """
    quarter = max(2, rows // 4)
    lowest = level(loss.values[len(loss) - rows :][:quarter])  # of all that comes later
    lifts = [0.0]
    for end in range(len(loss) - rows, max(rows, len(loss) - 11 * rows) - 1, -rows):
        stretch = loss.values[end - rows : end]
        first, last = level(stretch[:quarter]), level(stretch[-quarter:])
        lifts.append(min(last - first, last - lowest))
        lowest = min(lowest, first, last)
    return max(lifts)


def _norm_rising(view: View) -> Observation:
    if view.finite(GRAD_NORM_PRE) is None:
        return unknown(GRAD_NORM_PRE)
    trend = view.trend(GRAD_NORM_PRE)
    if trend is None:
        return unknown("{steps} steps of the gradient norm", steps=int(view.limit("trend-steps")))
    rising = trend.z > view.limit("trend-z") and trend.rise > view.limit("trend-rise")
    return present(trend.start, trend.end, channel=GRAD_NORM_PRE, rise=trend.rise) if rising else absent(GRAD_NORM_PRE)


def _flat(view: View) -> Observation:
    """No move over the whole log: not significant (a fall of 10 % or a rise by half is), or under 2 % of the level.

    100 rows, so that noise can be seen through.
    """
    loss = _enough(view, 100)
    if isinstance(loss, Observation):
        return loss
    trend = whole_trend(loss)
    if trend is None:
        return unknown("more rows of loss/train")
    first, last = level(loss.values[: max(5, len(loss) // 10)]), end_level(loss)
    fell = (first - last) / abs(first) if first else 0.0
    flat = abs(fell) < 0.02 or (abs(trend.z) < 1.96 and -0.5 < fell < 0.1)
    found = present(int(loss.steps[0]), int(loss.steps[-1]), channel=LOSS_TRAIN, level=view.level(LOSS_TRAIN), change=-fell)
    return found if flat else absent(LOSS_TRAIN, change=-fell)


def _never_moves(view: View) -> Observation:
    """One value to its last digit on every row; or, from the first step of a model that was not trained before, no fall.

    Three digits say so from 20 rows on, five from 4, or from 3 where the validation loss repeats itself as well.
    That a model was not trained before shows in a language model's loss over ln 100 all along. Any other level a trained one may stand at.
    """
    loss = _enough(view, 3)
    if isinstance(loss, Observation):
        return loss
    first, last = int(loss.steps[0]), int(loss.steps[-1])
    if _repeats(loss):
        val = view.finite(LOSS_VAL)
        both = val is not None and len(val) >= 3 and _repeats(val)
        printed = digits(float(loss.values[0]))
        same = (printed >= 3 and len(loss) >= 20) or (printed >= 5 and (len(loss) >= 4 or both))
        found = present(first, last, strength=1.0 if len(loss) >= 20 else 0.8, channel=LOSS_TRAIN, level=float(loss.values[0]))
        return found if same else absent(LOSS_TRAIN)
    if len(loss) < 20:
        return unknown("more rows of loss/train", rows=len(loss))
    untrained = bool(language_sign(view)) and float(np.min(loss.values)) > _UNTRAINED and first <= 2 * loss.interval
    middle = view.level(LOSS_TRAIN)
    levels = view.parts(LOSS_TRAIN, 20)
    room = max(0.01 * middle, 4 * view.noise(LOSS_TRAIN) * (20 / len(loss)) ** 0.5)
    if len(loss) < 100 or not untrained or float(np.max(np.abs(levels - middle))) > room:
        return absent(LOSS_TRAIN)
    return present(first, last, strength=0.85, channel=LOSS_TRAIN, level=middle)


def _repeats(series: Series) -> bool:
    return bool(np.all(series.values == series.values[0]))


def _chance(view: View) -> Observation:
    """At ln k from the first row to the last, for two classes, the known number of them, or (four times nearer) a usual one.

    Where the number is known, the first rows may lie over it: scores that begin too sure and come down to the guess have learnt nothing.
    """
    loss = _enough(view, 5)
    if isinstance(loss, Observation):
        return loss
    if view.family("loss_term") or view.objective is not None:
        return absent(LOSS_TRAIN)
    if view.header.step_unit == "step" and int(loss.steps[-1]) - int(loss.steps[0]) < _SCHOOLING:
        return unknown("more rows of loss/train", rows=len(loss))  # so few single steps teach nothing
    tolerance = view.limit("chance-tolerance")
    half = loss.values[len(loss) // 2 :]
    middle, first = level(half), float(loss.values[0])
    known = classes(view)
    blocks = block_means(loss.values if known is None else half, 20)
    fell = (blocks[0] - blocks[-1]) / abs(blocks[0]) if blocks[0] else 0.0
    if len(loss) >= 20 and fell > 0.025 and mann_kendall(blocks) < -3:
        return absent(LOSS_TRAIN)
    quiet = noise(half) < 0.01 * abs(middle) if middle else False
    for count in [known] if known else _CLASSES:
        chance = math.log(count)
        near = abs(middle - chance) <= (tolerance if count == 2 or known else tolerance / 4) * chance and (
            abs(first - chance) <= 5 * tolerance * chance or (known is not None and first > chance)
        )
        sure = count == 2 or bool(known)
        stays = float(np.min(loss.values)) > 0.75 * chance and level(np.abs(half - chance)) <= 3 * tolerance * chance
        if near and stays and (sure or (quiet and not names(view, *PER_TOKEN, "token", "tok/s"))):
            strength = 1.0 if sure else 0.8
            return present(
                int(loss.steps[0]), int(loss.steps[-1]), strength=strength, channel=LOSS_TRAIN, level=middle, classes=count, chance=chance
            )
    return absent(LOSS_TRAIN)


def _plateau(view: View) -> Observation:
    """Over the second half of the log it falls by under 1 %, or not significantly, and it is no higher than where it began."""
    loss = _enough(view, 60)
    if isinstance(loss, Observation):
        return loss
    middle = (int(loss.steps[0]) + int(loss.steps[-1])) / 2
    late = loss.values[loss.steps >= middle]
    if late.size < 30:
        return unknown("more rows of loss/train")
    third = late.size // 3
    first, last = level(late[:third]), level(late[-third:])
    fell = (first - last) / abs(first) if first else 0.0
    blocks = block_means(late, 20)
    still = fell < 0.01 or (mann_kendall(blocks) > -1.96 and fell < 0.05)
    low = end_level(loss) < 1.05 * level(loss.values[:3])
    stands = still and fell > -0.05 and low and not _leaves(late, last)
    return present(int(middle), int(loss.steps[-1]), channel=LOSS_TRAIN, level=last) if stands else absent(LOSS_TRAIN)


def _leaves(late: Values, settled: float) -> bool:
    """Whether the last rows climb out of their level and of its noise: half as much again, as a loss does that runs away."""
    end = level(late[-5:])
    return end > 1.5 * settled and end - settled > 5 * noise(late)


def _above_start(view: View) -> Observation:
    """The loss ends well over where it began: whatever it learned in between is lost."""
    return _ends_above(view, 1.15, 5)


def _far_above_start(view: View) -> Observation:
    """Half as much again as where it began, and out of all noise: it got lost, however long ago and however gently.

    Noise that came with it is none of before: where each row of the last quarter is that far above every one of the first, it does not count.
    """
    found = _ends_above(view, 1.5, 10)
    loss = view.finite(LOSS_TRAIN)
    quarter = len(loss) // 4 if loss is not None else 0
    if loss is None or found.state is State.PRESENT or quarter < 5:
        return found
    if _thrown_for_good(loss.values[:4], loss.values[-quarter:]):
        return present(int(loss.steps[0]), int(loss.steps[-1]), channel=LOSS_TRAIN, first=float(loss.values[0]), last=end_level(loss))
    highest, lowest = float(loss.values[:quarter].max()), float(loss.values[-quarter:].min())
    if not lowest > 1.5 * highest > 0:
        return found
    first, last = level(loss.values[:3]), end_level(loss)
    return present(int(loss.steps[0]), int(loss.steps[-1]), channel=LOSS_TRAIN, first=first, last=last)


def _thrown_for_good(early: NDArray[np.float64], late: NDArray[np.float64]) -> bool:
    """Whether the loss leaps to five times its very first row within three more, and its last quarter is as high, by more than three times
    the spread of its own logarithms.

    A loss that begins next to 0, as that of a copy or of a policy does, can only rise.
    """
    first, leapt = float(early[0]), float(early.max())
    usual, alive = level(late), late[late > 0]
    if not usual > 0 or 2 * alive.size < late.size or not _NOTHING * usual < first < _FIVE * min(usual, leapt):
        return False
    logs = np.log(alive)
    spread = 1.4826 * level(np.abs(logs - level(logs)))
    return float(np.log(usual / first)) > 3 * spread


def _ends_above(view: View, factor: float, noises: float) -> Observation:
    loss = _enough(view, 10)
    if isinstance(loss, Observation):
        return loss
    first = level(loss.values[:3])
    last, rough = end_level(loss), view.noise(LOSS_TRAIN)
    above = first > 0 and last > factor * first and last > first + noises * rough
    return present(int(loss.steps[0]), int(loss.steps[-1]), channel=LOSS_TRAIN, first=first, last=last) if above else absent(LOSS_TRAIN)


def _u_turn(view: View) -> Observation:
    """Falls smoothly to a fraction of its start, then climbs as smoothly over many times its minimum, to the end."""
    loss = _enough(view, 8)
    if isinstance(loss, Observation):
        return loss
    low = int(np.argmin(loss.values))
    climb = loss.values[low:]
    if low < 3 or climb.size < 4:
        return absent(LOSS_TRAIN)
    first, least, last = float(loss.values[0]), float(loss.values[low]), float(climb[-1])
    smooth = float(np.mean(np.diff(climb) > 0)) >= 0.9 and float(np.mean(np.diff(loss.values[: low + 1]) < 0)) >= 0.9
    deep = 0 < least < 0.3 * first and last > 3 * least and last > 0.3 * first
    return (
        present(int(loss.steps[low]), int(loss.steps[-1]), channel=LOSS_TRAIN, least=least, last=last)
        if smooth and deep
        else absent(LOSS_TRAIN)
    )


def _norm_halves_first(view: View) -> Observation:
    """Before the loss turns, the norm comes down to under half of where it began: what piles up does not."""
    turn, norm = _u_turn(view), view.finite(GRAD_NORM_PRE)
    if norm is None or turn.start is None:
        return unknown(GRAD_NORM_PRE) if norm is None else turn
    down = norm.values[norm.steps <= turn.start]
    if down.size < 2 or not float(down[-1]) < 0.5 * float(down[0]):
        return absent(GRAD_NORM_PRE)
    return present(turn.start, channel=GRAD_NORM_PRE, first=float(down[0]), last=float(down[-1]))


def _norm_piles_up(view: View) -> Observation:
    """The norm climbs about linearly from the first rows: R² of a line over 0.9 and a rise to over 5 times the start.

    After so many steps, what piles up is about so many times the first gradient, less where these point each its own way, and hardly ever
    less than the step before: what climbs more slowly, faster, or up and down is the norm of a model that leaves its start.
    """
    norm = view.finite(GRAD_NORM_PRE)
    if norm is None or len(norm) < 8:
        return unknown(GRAD_NORM_PRE)
    values, steps = norm.values[:50], norm.steps[:50]
    x = np.arange(values.size, dtype=np.float64)
    if float(np.std(values)) == 0.0:
        return absent(GRAD_NORM_PRE)
    x, y = x - x.mean(), values - values.mean()
    fit = float(x @ y) / float((x @ x) * (y @ y)) ** 0.5
    # The first row holds one gradient where it is the first step, and else as many as there are steps between two rows.
    held = 1.0 if int(steps[0]) <= 1 else norm.interval
    pace = values / max(float(values[0]), 1e-30) / (1.0 + (steps - steps[0]) / held)
    adds = level(pace[1:12]) >= _SLOWEST and float(pace[-1]) <= _FASTEST and float(np.mean(np.diff(values) < 0)) <= _FALLS
    climbs = float(values[-1]) > 5 * max(float(values[0]), 1e-30)
    found = present(int(steps[0]), int(steps[-1]), channel=GRAD_NORM_PRE, first=float(values[0]), last=float(values[-1]))
    return found if fit > 0.95 and climbs and adds else absent(GRAD_NORM_PRE)


def _collapse(view: View) -> Observation:
    """A drop to under 5 % of its level, and under 1, within a few rows and for good: not the steep part of an easy descent."""
    loss = _enough(view, 20)
    if isinstance(loss, Observation):
        return loss
    values = loss.values
    ends = end_level(loss)
    if view.objective is not None or float(values.min()) < 0:
        return absent(LOSS_TRAIN)
    low = values <= max(0.05 * level(values[: max(5, len(loss) // 10)]), ends * 1.5 + 1e-12)
    if not bool(low[-1]):
        return absent(LOSS_TRAIN)
    high = np.nonzero(~low)[0]
    start = int(high[-1]) + 1 if high.size else 0
    if start < 10 or start >= len(loss) - 1:
        return absent(LOSS_TRAIN)
    width = max(3, len(loss) // 50)
    earlier = values[max(0, start - width - 20) : max(1, start - width)]
    half = earlier.size // 2
    descends = half > 0 and level(earlier[half:]) < _DESCENDS * level(earlier[:half])
    soon = level(values[start + width : start + 2 * width]) if start + width < len(loss) else ends
    fell = earlier.size >= 3 and max(soon, ends) < min(UNIT, 0.05 * level(earlier)) and level(earlier) > 0.3
    fell = fell and not view.family("loss_term")
    found = present(
        int(loss.steps[start]), int(loss.steps[-1]), channel=LOSS_TRAIN, before=level(earlier) if earlier.size else 0.0, after=ends
    )
    return found if fell and not descends else absent(LOSS_TRAIN)


_R = (LOSS_TRAIN,)
DETECTORS = (
    Detector("loss-rising", _R, _rising, "the loss rises by {rise:.1%} from step {start} to {end} (Mann-Kendall z {z:.1f})", "the loss does not rise at the end of the log (Mann-Kendall z {z:.1f})", "keep logging: the rule needs 200 steps", (_TREND_STEPS, _TREND_Z, _TREND_RISE, _STRICT), True),
    Detector("norm-rising", (GRAD_NORM_PRE,), _norm_rising, "the gradient norm rises by {rise:.1%} from step {start} to {end}", "the gradient norm does not rise at the end of the log", thresholds=(_TREND_STEPS, _TREND_Z, _TREND_RISE), live=True),
    Detector("loss-flat", _R, _flat, "the loss moves by {change:+.1%} over the whole log, about its level of {level:.4g}", "the loss moves by {change:+.1%} over the log", "keep logging: a trend under noise needs 100 rows"),
    Detector("loss-at-chance", _R, _chance, "the loss stays at {level:.4g}, which is ln {classes} = {chance:.4g}: a uniform guess", "the loss is not stuck at a uniform guess", "keep logging: 5 rows are the least", (_CHANCE,)),
    Detector("loss-never-moves", _R, _never_moves, "the loss never leaves its first level, {level:.6g}", "the loss leaves its first level, or a model that was trained before may stand there"),
    Detector("loss-stands-late", _R, _plateau, "from step {start} on the loss stands at {level:.4g}", "the loss still falls in the second half of the log", "keep logging: a plateau needs 60 rows"),
    Detector("loss-ends-above-start", _R, _above_start, "the loss ends at {last:.4g}, above its start at {first:.4g}", "the loss does not end above its start"),
    Detector("loss-ends-far-above-start", _R, _far_above_start, "the loss ends at {last:.4g}, far above its start at {first:.4g}", "the loss does not end far above its start"),
    Detector("loss-turns-and-climbs", _R, _u_turn, "the loss turns at step {start} ({least:.3g}) and climbs smoothly to {last:.3g}", "the loss does not turn and climb"),
    Detector("norm-halves-before-turn", (GRAD_NORM_PRE, LOSS_TRAIN), _norm_halves_first, "the gradient norm falls from {first:.3g} to {last:.3g} until the loss turns at step {start}", "the gradient norm does not fall until a turn of the loss"),
    Detector("norm-piles-up", (GRAD_NORM_PRE,), _norm_piles_up, "the gradient norm climbs in a straight line from {first:.3g} to {last:.3g}", "the gradient norm does not climb in a straight line"),
    Detector("loss-collapses", _R, _collapse, "the loss drops from {before:.4g} to {after:.4g} at step {start} within a few rows and stays there", "the loss does not collapse"),
)  # fmt: skip
