"""Whether a weight matrix changes all at once, as training does not change it."""

from __future__ import annotations

import math

import numpy as np

from sismo.records.channels import GRAD_NORM_PRE, LOSS_TRAIN
from sismo.records.types import Series
from sismo.signals.begun import USUAL_LEAST, embeddings
from sismo.signals.kind import classes, fine_tuned
from sismo.signals.levels import finite, level
from sismo.signals.schedule import Schedule
from sismo.signals.types import Detector, Observation, Threshold, absent, present, unknown
from sismo.signals.view import View

_FAMILY = "spectral"
_JUMP = Threshold("matrix-jump", 3, 3, "×", "measured: healthy matrices change under 1.3× between looks after the first tenth of a run", "Spectral norm of a matrix over that of the look before.")  # fmt: skip
_TINY = Threshold("matrix-starts-tiny", 0.01, 0.01, "×", "measured: 1e-4 with weights / 10,000; 0.05 to 0.9 with GPT-2's and torch's own initialisation", "Spectral norm at the first step over that at the end.")  # fmt: skip
_CALM = 1.3
_PACE = 2.0
"""Growth in a step over that of the looks before, up to which it only goes on; 1.1 to 1.3 where Adam drives weights to huge targets."""
_MILLION = 1e6
_LARGE = 8.0
"""Spectral norm over that of any usual initialisation of a layer, torch's, Xavier's and Kaiming's, which lie under 4."""
_LOOKS = 6
"""Looks that tell how far a matrix moves by itself."""


def _matrices(view: View) -> list[Series]:
    return [series for series in map(finite, view.family(_FAMILY)) if len(series) >= _LOOKS and bool((series.values > 0).all())]


def _growth(series: Series) -> tuple[float, float, float, int]:
    """The largest and the second largest growth from one look to the next after the first tenth of the run; what the fastest of the
    other looks would come to in as many steps as the largest took; and where that is.
    """
    tenth = int(series.steps[0]) + (int(series.steps[-1]) - int(series.steps[0])) // 10
    first = min(max(2, len(series) // 10, int(np.searchsorted(series.steps, tenth)) + 1), len(series) - 2)
    growth = series.values[first:] / series.values[first - 1 : -1]
    gaps = np.diff(series.steps)[first - 1 :]
    place = int(np.argmax(growth))
    rates = np.delete(np.log(growth) / gaps, place)
    return float(growth[place]), float(np.max(np.delete(growth, place))), float(np.exp(min(rates.max() * gaps[place], 99.0))), first + place


def _goes_on(series: Series, place: int) -> bool:
    """Whether a matrix grew by as much in each step from the look before as it had, at its fastest, between the two looks before that.

    Steps of one size make it larger by the same in each, which is many times as much only because the looks are far apart.
    """
    earlier = slice(max(0, place - 3), place)
    rates = np.diff(series.values[earlier]) / np.diff(series.steps[earlier])
    pace = float(series.values[place] - series.values[place - 1]) / float(series.steps[place] - series.steps[place - 1])
    return bool(rates.size) and pace <= _PACE * float(rates.max())


def _moved_on_purpose(view: View, start: int, end: int) -> bool:
    """Whether weights were loaded, or the LR jumped, between two looks."""
    return any(start <= step <= end for step in _changes(view))


def _update(view: View, start: int, end: int) -> float:
    """The size of an update over that of the weights, of the part that moves most: the usual one, or the largest between two steps. 0 where
    it was not recorded.
    """
    known = [series for series in map(finite, view.family("update_ratio")) if len(series)]
    between = [series.values[(series.steps > start) & (series.steps <= end)] for series in known]
    return max([level(series.values) for series in known] + [float(values.max()) for values in between if values.size], default=0.0)


def _thrown(view: View, step: int) -> bool:
    """Whether a gradient norm before a step is not finite, or a loss before it is a million times the first one."""
    norm, loss = view.series(GRAD_NORM_PRE), view.finite(LOSS_TRAIN)
    lost = norm is not None and not bool(np.isfinite(norm.values[norm.steps < step]).all())
    earlier = np.abs(loss.values[loss.steps < step]) if loss is not None else np.empty(0)
    return lost or bool(earlier.size and earlier.max() > _MILLION * earlier[0] > 0)


def _changes(view: View) -> list[int]:
    """Steps at which weights were loaded, or the LR jumped."""
    schedule: Schedule | None = view.schedule()
    jumps = [jump.step for jump in schedule.jumps] if schedule else []
    return [*jumps, *(event.step for event in view.events if event.kind == "resume")]


def _jumps(view: View) -> Observation:
    """One matrix grows at least threefold from a look to the next, and is calm otherwise, with no LR jump or resume between.

    Looks may lie far apart: then it has to grow more than it does, at its fastest, in as many steps, and more than updates of the size that
    was recorded add up to. Where a gradient was lost before, or the
    loss thrown a millionfold, an update has done it.
    """
    found = _matrices(view)
    if not found:
        return unknown(_FAMILY)
    hits: list[tuple[int, Series, float]] = []
    for series in found:
        growth, usual, bears, place = _growth(series)
        start, end = int(series.steps[place - 1]), int(series.steps[place])
        grown = float(series.values[0]) >= USUAL_LEAST  # what starts next to 0 is multiplied by any step
        jumped = growth >= max(view.limit("matrix-jump"), bears) and usual <= _CALM and not _goes_on(series, place)
        jumped = jumped and math.log(growth) > _update(view, start, end) * (end - start)
        if grown and jumped and not _moved_on_purpose(view, start, end) and not _thrown(view, start):
            hits.append((end, series, growth))
    if not hits:
        return absent(_FAMILY)
    step, series, growth = min(hits, key=lambda hit: (hit[0], -hit[2]))
    return present(step, channel=series.channel, ratio=growth, worst=series.channel, count=len(hits), total=len(found))


def _steady(view: View) -> Observation:
    found = _matrices(view)
    if not found:
        return unknown(_FAMILY)
    growth = max(_growth(series)[0] for series in found)
    return present(channel=_FAMILY, ratio=growth) if growth <= _CALM else absent(_FAMILY, ratio=growth)


def _start_tiny(view: View) -> Observation:
    """Three in four matrices have, at the first step, under a hundredth of the spectral norm that they end with.

    Some may start at 0 by design (the last of a residual branch, an adapter); a model of which nearly all do so passes on no signal.
    What they grow to after the LR jumps, or the run is resumed, says nothing of how they start: the end is then before that.
    """
    until = min(_changes(view), default=math.inf)
    begun = [series for series in map(finite, view.family(_FAMILY)) if len(series) and int(series.steps[0]) <= 1]
    found = [looks for series in begun if len(looks := series.values[series.steps < until]) >= _LOOKS]
    if len(found) < 2:
        return unknown(_FAMILY)
    ends = [(float(looks[0]), level(looks[-max(1, len(looks) // 4) :])) for looks in found]
    # What a far too high rate has blown up started small beside its end only.
    tiny = [first / last for first, last in ends if last > 0 and first < USUAL_LEAST and first / last < view.limit("matrix-starts-tiny")]
    if len(tiny) < 0.75 * len(found):
        return absent(_FAMILY)
    return present(0, channel=_FAMILY, count=len(tiny), total=len(found), ratio=max(tiny))


def _start_large(view: View) -> Observation:
    """Half of the matrices have a spectral norm at the first step that no initialisation has, and the first loss is far over the guess.

    Trained matrices are as large, but what they say is better than a guess, or most of them are frozen. Embeddings begin at any size.
    """
    looked_up = {f"{_FAMILY}/{name}" for name in embeddings(view)}
    begun = [series for series in map(finite, view.family(_FAMILY)) if len(series) and int(series.steps[0]) <= 1]
    first = [(series.channel, float(series.values[0])) for series in begun if series.channel not in looked_up]
    loss, count = view.finite(LOSS_TRAIN), classes(view)
    if len(first) < 2 or loss is None or not len(loss):
        return unknown(_FAMILY if len(first) < 2 else LOSS_TRAIN)
    if count is None:
        return unknown("vocab_size")
    size = level(np.array([value for _, value in first]))
    over = float(loss.values[0]) > math.log(count) + view.limit("first-loss-over") and not fine_tuned(view)
    large = sum(value >= _LARGE for _, value in first)
    found = present(0, channel=first[0][0], size=size, count=large, total=len(first))
    return found if over and size >= _LARGE else absent(_FAMILY)


_HOW = "record the run with sismo.Recorder"
DETECTORS = (
    Detector("matrix-jumps", (_FAMILY,), _jumps, "{worst} is {ratio:.3g}× larger at step {start} than at the look before", "no matrix jumps", _HOW, (_JUMP,)),
    Detector("matrices-start-tiny", (_FAMILY,), _start_tiny, "{count} of {total} matrices {count:starts|start} with under a hundredth of the spectral norm at the end", "the matrices start with a size of the order that they end with", _HOW, (_TINY,)),
    Detector("matrices-start-large", (_FAMILY, LOSS_TRAIN), _start_large, "{count} of {total} matrices {count:starts|start} with a spectral norm of 8 or more (median {size:.3g}), and the first loss is far over a guess", "no matrices start so large that the first loss is far over a guess", _HOW),
    Detector("matrices-steady", (_FAMILY,), _steady, "no matrix changes by over {ratio:.2f}× from one look to the next: the weights did not jump", "a matrix changes by {ratio:.2f}× from one look to the next", _HOW),
)  # fmt: skip
