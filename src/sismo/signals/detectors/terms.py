"""Terms of a loss that is a sum: one that drowns the others, explodes, or has no floor."""

from __future__ import annotations

import numpy as np

from sismo.records.channels import LOSS_TRAIN
from sismo.records.types import Series
from sismo.signals.levels import level
from sismo.signals.types import Detector, Observation, Threshold, absent, present, unknown
from sismo.signals.view import View

_RATIO = Threshold("term-ratio", 1e4, 1e4, "×", "chosen: no usual weight (1e-4 to 1) brings such terms to one size", "Ratio of the largest to the smallest term of a loss that is out of balance.")  # fmt: skip
_BURST = Threshold("term-burst", 30, 30, "×", "chosen: a term that grows thirtyfold within a run rules the gradient", "Growth of one term over its start that counts as an explosion.")  # fmt: skip

_SUMS = 3
"""Rows after the first that all terms stay far over it in, where the first is of one batch and the others are sums."""


def _terms(view: View) -> list[Series]:
    found: list[Series] = []
    for series in view.family("loss_term"):
        good = np.isfinite(series.values)
        if int(good.sum()) >= 3:
            found.append(Series(series.channel, series.steps[good], series.values[good]))
    return found


def _summed(view: View) -> list[Series]:
    """The terms that can drown others: not one far over the logged total that the others make most of.

    It has an optimizer of its own, or a small weight that is not in what is printed.
    """
    terms, loss = _terms(view), view.finite(LOSS_TRAIN)
    if loss is None or not len(loss) or len(terms) < 3:
        return terms
    total = abs(level(loss.values))
    sizes = {series.channel: level(series.values) for series in terms}
    whole = sum(sizes.values())
    return [series for series in terms if abs(sizes[series.channel]) < 10 * total or abs(whole - sizes[series.channel] - total) > total / 2]


def _unbalanced(view: View) -> Observation:
    """For most of the run, the median of the largest term over that of the smallest non-zero one; not where two networks play a game."""
    terms = _summed(view)
    if len(terms) < 2 or view.objective == "gan":
        return unknown("loss_term")
    sizes = {series.channel: level(np.abs(series.values)) for series in terms}
    alive = {name: size for name, size in sizes.items() if size > 0}
    if len(alive) < 2:
        return absent("loss_term")
    big, small = max(alive, key=lambda n: alive[n]), min(alive, key=lambda n: alive[n])
    ratio = alive[big] / alive[small]
    found = present(int(terms[0].steps[0]), channel=big, big=big, small=small, ratio=ratio, large=alive[big], little=alive[small])
    return found if ratio > view.limit("term-ratio") else absent("loss_term", ratio=ratio)


def _bursts(view: View) -> Observation:
    """A term climbs past thirty times its first value and the total climbs with it."""
    terms = _terms(view)
    if len(terms) < 2:
        return unknown("loss_term")
    loss = view.finite(LOSS_TRAIN)
    if loss is None or not len(loss):
        return unknown(LOSS_TRAIN)
    worst: tuple[float, Series, int] | None = None
    # The first row of all may be of one batch and the others of many, as with spaCy, which prints sums: then all terms stay far over it.
    sums = int(all(len(series) > _SUMS and np.abs(series.values[1 : _SUMS + 1]).min() > 5 * abs(series.values[0]) for series in terms))
    for series in terms:
        first = float(np.abs(series.values[sums]))
        top = int(np.argmax(series.values))
        rest = sum(abs(other.at(int(series.steps[top])) or 0.0) for other in terms if other.channel != series.channel)
        rules = float(series.values[top]) > 5 * rest
        growth = float(series.values[top]) / first if first > 0 else 0.0
        if rules and growth > view.limit("term-burst") and (worst is None or growth > worst[0]):
            worst = (growth, series, top)
    if worst is None:
        return absent("loss_term")
    growth, series, top = worst
    step = int(series.steps[top])
    total_then, total_first = loss.at(step), float(loss.values[0])
    follows = total_then is not None and total_first > 0 and total_then > 5 * total_first
    found = present(step, channel=series.channel, term=series.channel, first=float(series.values[0]), peak=float(series.values[top]))
    return found if follows else absent("loss_term")


def _crosses_zero(view: View) -> Observation:
    """A term that was positive goes below 0 in the 20 rows before the loss is lost: it has no floor."""
    loss = view.series(LOSS_TRAIN)
    if loss is None:
        return unknown(LOSS_TRAIN)
    bad = np.nonzero(~np.isfinite(loss.values))[0]
    if not bad.size:
        return absent("loss_term")
    step = int(loss.steps[bad[0]])
    terms = _terms(view)
    if not terms:
        return unknown("loss_term")
    for series in terms:
        inside = series.values[series.steps < step]
        steps = series.steps[series.steps < step]
        if inside.size < 10:
            continue
        last = min(20, inside.size // 2)
        below = np.nonzero(inside[-last:] < 0)[0]
        if below.size and float(np.mean(inside[:-last] > 0)) > 0.99:
            at = int(steps[-last:][below[0]])
            return present(at, step, channel=series.channel, term=series.channel, value=float(inside[-last:].min()), failure=step)
    return absent("loss_term")


_R = ("loss_term",)
DETECTORS = (
    Detector("terms-out-of-balance", _R, _unbalanced, "{big} ({large:.3g}) is {ratio:.2g}× {small} ({little:.3g})", "the terms of the loss are within reach of each other", thresholds=(_RATIO,)),
    Detector("term-bursts", (*_R, LOSS_TRAIN), _bursts, "{term} climbs from {first:.4g} to {peak:.4g} at step {start} and carries the total with it", "no term of the loss bursts", thresholds=(_BURST,)),
    Detector("term-goes-negative-before-nan", (*_R, LOSS_TRAIN), _crosses_zero, "{term} turns negative at step {start} ({value:.3g}), then the loss is lost at step {failure}", "no term turns negative before the loss is lost"),
)  # fmt: skip
