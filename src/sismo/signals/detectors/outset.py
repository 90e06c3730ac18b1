"""Activations of the first step, before any training: of the usual size or not, and what first loss they can explain."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from sismo.records.channels import LOSS_TRAIN
from sismo.records.types import Series
from sismo.signals.families import members
from sismo.signals.kind import LARGEST_ENTROPY
from sismo.signals.levels import level
from sismo.signals.types import Detector, Observation, State, Threshold, absent, present, unknown
from sismo.signals.view import View

_RECORD = "record the run with sismo.Recorder"
_NORM = re.compile(r"norm|\bln(_|$)", re.IGNORECASE)
_ACT_GROWTH = Threshold("activation-at-start", 5, 5, "×", "preflight 5: same order at step 0 and 100; measured: 5× a baseline", "Activation at step 0 over that at step 100.")  # fmt: skip
_ACT_UNIT = Threshold("activation-over-unit", 5, 5, "×", "measured: 95 to 103× with weights × 100, 12× with Xavier × 5, 0.005 to 0.9× with GPT-2's, Xavier's and torch's own", "Activation at step 0 over that of a normalised layer.")  # fmt: skip


def _activation_at_start(view: View, found: list[Series]) -> Observation:
    """Activation at the first recorded step over that about step 100, per layer; not of one that began small and goes to nothing."""
    ratios: dict[str, float] = {}
    unit = _unit({series.channel: float(series.values[0]) for series in found})
    for series in found:
        later = series.values[(series.steps >= 80) & (series.steps <= 300)]
        if int(series.steps[0]) <= 1 and float(series.values[0]) > unit and later.size and level(later) > 0:
            ratios[series.channel] = float(series.values[0]) / level(later)
    if not ratios:
        looked = any(int(series.steps[0]) <= 1 and bool(((series.steps >= 80) & (series.steps <= 300)).any()) for series in found)
        return absent("act_mean_abs") if looked else unknown("act_mean_abs at steps 0 and 100")
    worst = max(ratios, key=lambda name: ratios[name])
    return present(0, channel=worst, ratio=ratios[worst], worst=worst) if ratios[worst] > view.limit("activation-at-start") else absent("act_mean_abs", ratio=ratios[worst])  # fmt: skip


def _activation_over_unit(view: View, found: list[Series]) -> Observation:
    """Activation at step 0 over the unit scale: that of the last normalising layer, or 1 where there is none.

    A sound initialisation keeps everything of that order. A trained model may have any scale, and begins under the uniform guess. Where
    the number of classes is not known, the loss has to begin over any guess, and the layers to grow over depth: so an output of another
    scale is not meant.
    """
    first = {series.channel: float(series.values[0]) for series in found if int(series.steps[0]) <= 1}
    if not first:
        return unknown("act_mean_abs at step 0")
    loss, vocabulary = view.finite(LOSS_TRAIN), view.header.vocab_size
    if loss is None or not len(loss):
        return unknown(LOSS_TRAIN)
    beyond = float(loss.values[0]) > LARGEST_ENTROPY and max(first.values()) > view.limit("activation-over-unit") * next(
        iter(first.values())
    )
    if (vocabulary is None or vocabulary < 2) and not beyond:
        return unknown("vocab_size")
    unit = _unit(first)
    worst = max(first, key=lambda name: first[name])
    ratio = first[worst] / unit
    trained = not beyond and vocabulary is not None and float(loss.values[0]) < math.log(vocabulary) - view.limit("first-loss-near")
    if trained or ratio <= view.limit("activation-over-unit"):
        return absent("act_mean_abs", ratio=ratio)
    count = sum(value > view.limit("activation-over-unit") * unit for value in first.values())
    return present(0, channel=worst, ratio=ratio, worst=worst, count=count, total=len(first))


def _unit(first: Mapping[str, float]) -> float:
    """The size of a normalised layer: that of the last norm at the first step, or 1 where there is none."""
    norms = [value for channel, value in first.items() if _NORM.search(channel) and value > 0]
    return norms[-1] if norms else 1.0


def _activation_usual(view: View, found: list[Series]) -> Observation:
    """Every layer that was looked at is of the size of a normalised one at step 0; the other way round of the signal before."""
    over = _activation_over_unit(view, found)
    if over.state is State.UNKNOWN:
        return over
    usual = over.state is State.ABSENT and len(found) > 1
    return present(0, channel="act_mean_abs", total=len(found)) if usual else absent("act_mean_abs")


def _over_activations(view: View, found: list[Series]) -> Observation:
    """A first loss over ln V + 2 max |a|, which no mean of cross-entropies of these activations reaches: log Z - z is at most that."""
    first = [float(series.values[0]) for series in found if int(series.steps[0]) <= 1]
    loss, vocabulary = view.finite(LOSS_TRAIN), view.header.vocab_size
    if not first or loss is None or not len(loss) or int(loss.steps[0]) > 1:
        return unknown("act_max_abs at step 0")
    if vocabulary is None or vocabulary < 2:
        return unknown("vocab_size")
    most = math.log(vocabulary) + 2 * max(first)
    over = float(loss.values[0]) > most
    return present(0, channel=LOSS_TRAIN, loss=float(loss.values[0]), most=most) if over else absent(LOSS_TRAIN, most=most)


DETECTORS = (
    Detector("activations-large-at-start", ("act_mean_abs",), members("act_mean_abs", _activation_at_start), "{worst} is {ratio:.0f}× larger at step 0 than at step 100, before any training", "activations at step 0 are of the order of those at step 100", _RECORD, (_ACT_GROWTH,)),
    Detector("activations-over-unit-scale", ("act_mean_abs",), members("act_mean_abs", _activation_over_unit), "{worst} is {ratio:.0f}× as large as a normalised layer at step 0, before any training ({count} of {total} layers {count:is|are} far over it)", "activations at step 0 are of the size of a normalised layer", _RECORD, (_ACT_UNIT,)),
    Detector("activations-usual-at-start", ("act_mean_abs",), members("act_mean_abs", _activation_usual), "all {total} layers are of the size of a normalised one at step 0", "a layer is far larger than a normalised one at step 0, or too few were seen", _RECORD, (_ACT_UNIT,)),
    Detector("loss-over-what-activations-allow", ("act_max_abs",), members("act_max_abs", _over_activations), "the first loss, {loss:.4g}, is over the {most:.4g} that scores as small as the activations of step 0 can cost: it is no mean", "activations as large as those of step 0 explain the first loss", _RECORD),
)  # fmt: skip
