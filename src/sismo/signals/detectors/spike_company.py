"""Spikes in company: whether they crowd, come at one distance, follow the LR, lead up to a jump, or are the noise of the run."""

from __future__ import annotations

import numpy as np

from sismo.records.channels import GRAD_NORM_PRE, LOSS_TRAIN, LR
from sismo.signals.levels import after, before, level
from sismo.signals.rolling import medians
from sismo.signals.spikes import Spike
from sismo.signals.standing import back_late, interval_of, judged, standing, stays
from sismo.signals.trend import mann_kendall
from sismo.signals.types import Detector, Observation, absent, present, unknown
from sismo.signals.view import View

_RESTLESS, _CALM = 20, 40
"""Rows before a spike that tell whether it came out of calm, and those before them that say what calm is."""
_SETTLED, _TWICE = 5, 2
"""Rows whose median tells where a loss stands; times that it has to have been up before."""
_LASTS = (3, 10)
"""Rows of a spike that is none of a single odd batch, and of one that is another task; where it begins is not clear to the row."""
_BY_CHANCE = 2.6
"""Standard normal score that chance alone passes in 1 of 200 runs."""
_DOUBT = 1.64
"""That which it passes in 1 of 20."""


def _accelerate(view: View) -> Observation:
    """At least five spikes that crowd towards the end of the log and do not get lower: p = 0.005."""
    return _crowd(view, _BY_CHANCE)


def _perhaps_accelerate(view: View) -> Observation:
    """The same where chance alone would do it once in 20 logs: no sign of anything, but one odd batch is not all there is."""
    return _crowd(view, _DOUBT)


def _crowd(view: View, least: float) -> Observation:
    """Whether spikes crowd so far.

    Spikes that come at random are spread evenly, and the mean of n even places has a deviation of 1 / sqrt(12 n).
    """
    if view.rows(LOSS_TRAIN) < view.limit("min-rows"):
        return unknown("more rows of loss/train")
    spikes, loss = standing(view), view.finite(LOSS_TRAIN)
    if len(spikes) < 5 or loss is None:
        return absent(LOSS_TRAIN)
    begin, end = float(loss.steps[0]), float(loss.steps[-1])
    places = (np.array([s.start for s in spikes], dtype=np.float64) - begin) / max(1.0, end - begin)
    crowding = (float(places.mean()) - 0.5) * (12 * len(spikes)) ** 0.5
    heights = np.array([s.z for s in spikes])
    half = len(spikes) // 2
    higher = level(heights[half:]) >= level(heights[:half])
    found = present(spikes[0].start, spikes[-1].end, channel=LOSS_TRAIN, count=len(spikes))
    return found if crowding > least and higher else absent(LOSS_TRAIN)


def _even(view: View) -> Observation:
    """Five spikes or more at one distance: the loop makes them (a target network that is renewed, a lesson that follows another), and no batch.

    Three are enough of those that last for some rows, whether or not they stand above the others, where the first is as far from the start.
    """
    if view.rows(LOSS_TRAIN) < view.limit("min-rows"):
        return unknown("more rows of loss/train")
    lasting = [[spike for spike in view.spikes(LOSS_TRAIN) if spike.rows >= rows] for rows in _LASTS]
    begun = float(view.first_step or 0)
    for spikes, least, anchor, apart in ((standing(view), 5, [], 0.05), *((some, 3, [begun], 0.1) for some in lasting)):
        gaps = np.diff(np.array([*anchor, *(spike.start for spike in spikes)], dtype=np.float64))
        if len(spikes) >= least and float(np.ptp(gaps)) <= apart * float(gaps.mean()) + interval_of(view):
            return present(spikes[0].start, spikes[-1].start, channel=LOSS_TRAIN, count=len(spikes), period=float(gaps.mean()))
    return absent(LOSS_TRAIN)


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
    last = next((number for number, spike in enumerate(spikes) if stays(spike)), len(spikes) - 1)
    spikes = spikes[: last + 1]
    rising = sum(spike.start < schedule.peak_step for spike in spikes)
    if len(spikes) < 5 or rising < 3 or not standing(view) or schedule.starts_high or schedule.constant:
        return absent(LR)
    end = spikes[-1].start if stays(spikes[-1]) else int(loss.steps[-1])
    steps = loss.steps[loss.steps <= end].astype(np.float64)
    rates = np.interp([spike.start for spike in spikes], lr.steps.astype(np.float64), lr.values)
    ordered = np.sort(np.interp(steps, lr.steps.astype(np.float64), lr.values))
    places = (np.searchsorted(ordered, rates, side="left") + np.searchsorted(ordered, rates, side="right")) / (2 * ordered.size)
    by_rate = np.argsort(rates, kind="stable")
    heights = [np.array([spike.z for spike in spikes]), *_norms_at(view, spikes)]
    tests = [(float(places.mean()) - 0.5) * (12 * len(spikes)) ** 0.5, *(mann_kendall(height[by_rate]) for height in heights)]
    found = present(spikes[0].start, spikes[-1].end, channel=LR, count=len(spikes), first=float(rates[0]), top=float(rates.max()))
    return found if min(tests) > 0 and sum(tests) / len(tests) ** 0.5 > _BY_CHANCE else absent(LR)


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


def _jump_after_spikes(view: View) -> Observation:
    """Five spikes or more, out of the reach of the noise, before the one that stays: the run had been getting there."""
    spike = judged(view)
    if isinstance(spike, Observation):
        return spike
    earlier = [other for other in view.spikes(LOSS_TRAIN) if other.start < spike.start and other.prominence >= 1]
    led = stays(spike) and len(earlier) >= 5
    return present(earlier[0].start, spike.start, channel=LOSS_TRAIN, count=len(earlier)) if led else absent(LOSS_TRAIN)


def _restless(view: View) -> Observation:
    """Three of the 20 rows before a spike were up already, to a quarter of its height, and of the 40 before those one at most.

    One odd batch comes out of calm; where it comes among others, the data changed, or the run was losing its hold.
    """
    spike, loss = judged(view), view.finite(LOSS_TRAIN)
    if isinstance(spike, Observation):
        return spike
    if loss is None or (earlier := before(loss, spike.start, _RESTLESS + _CALM)).size < _RESTLESS + _CALM:
        return unknown("{rows} rows before the spike at step {at}", rows=_RESTLESS + _CALM, at=spike.start)
    high = earlier > spike.before + 0.25 * (spike.peak - spike.before)
    rows = int(np.count_nonzero(high[-_RESTLESS:]))
    found = present(spike.start, spike.end, channel=LOSS_TRAIN, count=rows)
    return found if rows >= 3 and int(np.count_nonzero(high[:-_RESTLESS])) <= 1 else absent(LOSS_TRAIN)


def _as_high_before(view: View) -> Observation:
    """Twice before, the loss left a level as low as that before the spike, stayed for some rows half as high as the spike is, and came back.

    A run that does so by itself, as one does whose targets move with a copy of its own model, needs no bad data for another time.
    """
    spike, loss = judged(view), view.finite(LOSS_TRAIN)
    if isinstance(spike, Observation):
        return spike
    if loss is None or (earlier := loss.values[loss.steps < spike.start]).size < _RESTLESS + _CALM:
        return unknown("{rows} rows before the spike at step {at}", rows=_RESTLESS + _CALM, at=spike.start)
    now = level(after(loss, spike.start, 200)[spike.rows // 2 :]) if stays(spike) and back_late(view, spike) is None else spike.peak
    height = now - spike.before
    rows = medians(np.lib.stride_tricks.sliding_window_view(earlier, _SETTLED))
    state = np.where(rows > spike.before + 0.5 * height, 1, np.where(rows <= spike.before + 0.25 * height, -1, 0))
    turns = state[state != 0]
    count = int(np.count_nonzero((turns[1:] > 0) & (turns[:-1] < 0)))
    found = present(spike.start, spike.end, channel=LOSS_TRAIN, count=count, now=now)
    return found if height > 0 and count >= _TWICE else absent(LOSS_TRAIN)


def _unconfirmed(view: View) -> Observation:
    """Confirmed by their height, but among neighbours of the same height: the noise of this run has heavy tails."""
    if view.rows(LOSS_TRAIN) < view.limit("min-rows"):
        return unknown("more rows of loss/train")
    found = len(view.spikes(LOSS_TRAIN))
    return present(channel=LOSS_TRAIN, count=found) if found >= 3 and not standing(view) else absent(LOSS_TRAIN)


_READS = (LOSS_TRAIN,)
DETECTORS = (
    Detector("spikes-accelerate", _READS, _accelerate, "{count} spikes from step {start} to {end}, closer together or higher as they come", "spikes do not come oftener or higher"),
    Detector("spikes-may-accelerate", _READS, _perhaps_accelerate, "{count} spikes from step {start} to {end} seem to come oftener", "spikes do not seem to come oftener"),
    Detector("spikes-at-one-distance", _READS, _even, "{count} spikes come every {period:.4g} steps, from step {start} on", "spikes do not come at one distance"),
    Detector("jump-after-spikes", _READS, _jump_after_spikes, "{count} spikes lead up to the jump, from step {start} on", "no spikes lead up to a jump"),
    Detector("spikes-grow-with-lr", (*_READS, LR), _grow_with_lr, "{count} spikes from step {start} to {end}, oftener and higher where the LR is high (up to {top:.3g})", "spikes do not follow the LR"),
    Detector("loss-as-high-before", _READS, _as_high_before, "the loss left its level {count} times before step {start}, half as far or farther, and came back by itself", "the loss did not leave its level twice and come back before a spike"),
    Detector("unrest-before-spike", _READS, _restless, "the loss was up {count} times in the 20 rows before step {start} already, and not before them", "no spike follows others within a few rows"),
    Detector("excursions-of-one-height", _READS, _unconfirmed, "{count} excursions stand out of the window but none above the others: the noise has heavy tails", "no crowd of equal excursions"),
)  # fmt: skip
