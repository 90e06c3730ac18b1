"""Which spikes of the training loss stand out of what its run does by itself, and which of them matters most."""

from __future__ import annotations

from typing import Any

import numpy as np

from sismo.records.channels import GRAD_NORM_PRE, LOSS_TRAIN
from sismo.records.types import Series
from sismo.signals.levels import before, level
from sismo.signals.rolling import medians
from sismo.signals.spikes import Spike
from sismo.signals.types import Observation, absent, present, unknown
from sismo.signals.view import View

_AGAIN = 6
"""Climbs in a window from which on a height is nothing new; of spikes that crowd before a divergence there are fewer."""


def standing(view: View) -> list[Spike]:
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


def judged(view: View) -> Spike | Observation:
    """The spike that matters most, or why there is none."""
    if view.rows(LOSS_TRAIN) < view.limit("min-rows"):
        return unknown("more rows of loss/train")
    spikes = standing(view)
    return worst(spikes) if spikes else absent(LOSS_TRAIN)


def judged_beside(view: View, channel: str) -> tuple[Spike, Series] | Observation:
    """The same with the finite rows of another channel, or that the channel is missing."""
    spike, series = judged(view), view.finite(channel)
    if isinstance(spike, Observation):
        return spike
    return unknown(channel) if series is None else (spike, series)


def worst(spikes: list[Spike]) -> Spike:
    """A persistent one before any that recovered, then the highest."""
    return max(spikes, key=lambda s: (s.recovered is False, s.z))


def numbers_of(spike: Spike) -> dict[str, Any]:
    return {"peak": spike.peak, "before": spike.before, "z": spike.z, "at": spike.peak_step}


def stays(spike: Spike) -> bool:
    return spike.recovered is False and spike.rows >= 5


def interval_of(view: View) -> float:
    loss = view.series(LOSS_TRAIN)
    return loss.interval if loss is not None else 1.0


def back_late(view: View, spike: Spike) -> int | None:
    """The step by which a spike that took longer than it should is back all the same; None where it is not."""
    loss = view.finite(LOSS_TRAIN)
    if loss is None or spike.recovered is not False or not view.limit("spike-confirm-z"):  # to the letter, 50 steps are 50 steps
        return None
    later = loss.values[loss.steps > spike.peak_step]
    steps = loss.steps[loss.steps > spike.peak_step]
    if later.size < 5:
        return None
    down = np.flatnonzero(medians(np.lib.stride_tricks.sliding_window_view(later, 5)) <= spike.before + spike.scale)
    return int(steps[down[0]]) if down.size else None


def norm_at(view: View) -> Observation:
    """Gradient norm in the rows of the spike over its level before it."""
    found = judged_beside(view, GRAD_NORM_PRE)
    if isinstance(found, Observation):
        return found
    spike, norm = found
    base = level(before(norm, spike.start, 100))
    around = norm.values[(norm.steps >= spike.start - norm.interval) & (norm.steps <= spike.end)]
    if not around.size or not base > 0:
        return unknown("the gradient norm at step {at}", at=spike.start)
    ratio = float(around.max()) / base
    found = present(spike.start, spike.end, channel=GRAD_NORM_PRE, ratio=ratio, norm=float(around.max()), base=base)
    return found if ratio >= view.limit("spike-norm-ratio") else absent(GRAD_NORM_PRE, ratio=ratio)
