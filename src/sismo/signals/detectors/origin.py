"""Where in a recorded step the first number that is not finite stands: in an activation, or in a weight already."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sismo.records.channels import GRAD_NORM_PRE, LOSS_TRAIN
from sismo.records.types import Series
from sismo.signals.types import Detector, Observation, absent, present, unknown
from sismo.signals.view import View


def _when_lost(rule: Callable[[View, int], Observation]) -> Callable[[View], Observation]:
    """Runs a rule that is given the step of the first training loss that is not finite; absent where all are."""

    def look(view: View) -> Observation:
        if not view.rows(LOSS_TRAIN):
            return unknown(LOSS_TRAIN)
        spans = view.nonfinite(LOSS_TRAIN)
        return rule(view, spans[0].start) if spans else absent(LOSS_TRAIN)

    return look


def _at(series: Series, step: int) -> float | None:
    place = int(np.searchsorted(series.steps, step))
    return float(series.values[place]) if place < len(series) and int(series.steps[place]) == step else None


def _activation(view: View, step: int) -> Observation:
    """A layer whose activations were not finite in the very step that lost the loss, or before: the loss is not where it began."""
    looked = [series for series in view.family("act_nonfinite") if _at(series, step) is not None]
    if not looked:
        return unknown("act_nonfinite at step {at}", at=step)
    bad = [series.channel for series in looked if _at(series, step)]
    return present(step, channel=bad[0], worst=bad[0], count=len(bad), total=len(looked)) if bad else absent("act_nonfinite")


def _weight(view: View, step: int) -> Observation:
    """A block whose weights, taken before the update, were not finite in the step that lost the loss, while those of others were.

    Where all are bad it is the update before that lost them, unless its gradient was finite. From the weights themselves where those were
    looked at, else from the norms of the matrices.
    """
    for family in ("weight_nonfinite", "spectral"):
        values = {series.channel: _at(series, step) for series in view.family(family)}
        looked = {channel: value for channel, value in values.items() if value is not None}
        bad = [channel for channel, value in looked.items() if (value > 0 if family == "weight_nonfinite" else not np.isfinite(value))]
        if looked:
            alone = 0 < len(bad) < len(looked) or (bool(bad) and _sound_gradient_before(view, step))
            return present(step, channel=bad[0], worst=bad[0], count=len(bad), total=len(looked)) if alone else absent(family)
    return unknown("spectral at step {at}", at=step)


def _sound_gradient_before(view: View, step: int) -> bool:
    """Whether the gradient norm of the row right before a step is logged and finite."""
    norm, loss = view.series(GRAD_NORM_PRE), view.series(LOSS_TRAIN)
    if norm is None or loss is None or not (loss.steps < step).any():
        return False
    value = _at(norm, int(loss.steps[loss.steps < step][-1]))
    return value is not None and bool(np.isfinite(value))


def _only_loss(*, infinite: bool) -> Callable[[View, int], Observation]:
    """The loss alone is lost (infinite, or NaN): every activation of that step is finite, the output with them."""

    def rule(view: View, step: int) -> Observation:
        looked = [_at(series, step) for series in view.family("act_nonfinite")]
        if not looked or None in looked:
            return unknown("act_nonfinite at step {at}", at=step)
        loss = view.series(LOSS_TRAIN)
        value = _at(loss, step) if loss is not None else None
        alone = not any(looked) and value is not None and bool(np.isinf(value)) is infinite
        return present(step, channel=LOSS_TRAIN, total=len(looked)) if alone else absent("act_nonfinite")

    return rule


_HOW = "record the run with sismo.Recorder"
DETECTORS = (
    Detector("activation-nonfinite-with-loss", (LOSS_TRAIN, "act_nonfinite"), _when_lost(_activation), "{worst} is not finite in the step that loses the loss ({count} of {total} layers)", "every activation is finite in the step that loses the loss", _HOW),
    Detector("weight-nonfinite-first", (LOSS_TRAIN, GRAD_NORM_PRE, "weight_nonfinite", "spectral"), _when_lost(_weight), "{worst} is not finite in the step that loses the loss, before the update ({count} of {total}): the weight was bad already", "no weight is bad before the others", _HOW),
    Detector("only-loss-nan", (LOSS_TRAIN, "act_nonfinite"), _when_lost(_only_loss(infinite=False)), "in step {start} the loss alone is NaN: all {total} layers, the output with them, are finite", "the loss is not NaN by itself", _HOW),
    Detector("only-loss-infinite", (LOSS_TRAIN, "act_nonfinite"), _when_lost(_only_loss(infinite=True)), "in step {start} the loss alone is infinite: all {total} layers, the output with them, are finite", "the loss is not infinite by itself", _HOW),
)  # fmt: skip
