"""What a recorded run is trained towards: targets that are all the same, that are the inputs, or that are not finite."""

from __future__ import annotations

import numpy as np

from sismo.records.channels import LOSS_TRAIN
from sismo.records.types import Series
from sismo.signals.levels import end_level, level
from sismo.signals.types import Detector, Observation, State, Threshold, absent, present, unknown
from sismo.signals.view import View

_SPREAD, _LEVEL, _AS_INPUT, _CLASSES = "target/spread", "target/level", "target/as_input", "target/classes"
_AS_NEXT, _FUTURE = "target/as_next", "batch/future_keys"
_RECORD = "record the run with sismo.Recorder"
_SAME = Threshold("targets-as-input", 0.99, 0.99, "share", "chosen: text that is shifted by one repeats a letter in a tenth of its places, a masked one keeps up to 85 % of its tokens", "Share of labels equal to the input in the same place that is no accident.")  # fmt: skip
_LOOKS = 3
"""Looks at the targets that tell what they are like all along: an odd batch may hold one class."""
_LEARNT = 0.1
"""Share of its start under which a loss has found what there is to find."""


def _spreads(view: View) -> tuple[Series, Series] | Observation:
    """The spread at every look, and the level at the same steps."""
    spread, levels = view.finite(_SPREAD), view.finite(_LEVEL)
    if spread is None or levels is None or len(spread) < _LOOKS:
        return unknown(_SPREAD)
    at = np.searchsorted(levels.steps, spread.steps)
    known = (at < len(levels)) & (levels.steps[np.minimum(at, len(levels) - 1)] == spread.steps)
    if not known.any():
        return unknown(_LEVEL)
    return spread, Series(_LEVEL, spread.steps[known], levels.values[at[known]])


def _all_equal(view: View) -> Observation:
    """The same number in every place of every batch that was looked at.

    Labels of one class say it by themselves. Of other numbers, an equation that is to be solved asks for one number everywhere, and it is
    mostly 0.
    """
    found = _spreads(view)
    if isinstance(found, Observation):
        return found
    spread, levels = found
    low, high = float(levels.values.min()), float(levels.values.max())
    same = bool((spread.values == 0.0).all()) and high - low <= 1e-6 * max(abs(low), abs(high))
    labels = view.rows(_CLASSES) > 0
    value = level(levels.values)
    if not same or not (labels or value):
        return absent(_SPREAD)
    return present(int(spread.steps[0]), int(spread.steps[-1]), strength=1.0 if labels else 0.8, channel=_SPREAD, value=value, count=len(spread))  # fmt: skip


def _vary(view: View) -> Observation:
    found = _spreads(view)
    if isinstance(found, Observation):
        return found
    spread, levels = found
    varies = bool((spread.values > 0.0).any()) or bool((levels.values != levels.values[0]).any())
    return present(int(spread.steps[0]), channel=_SPREAD, count=len(spread)) if varies else absent(_SPREAD)


def _nonfinite(view: View) -> Observation:
    levels = view.series(_LEVEL)
    if levels is None or not len(levels):
        return unknown(_LEVEL)
    bad = np.flatnonzero(~np.isfinite(levels.values))
    return present(int(levels.steps[bad[0]]), channel=_LEVEL) if bad.size else absent(_LEVEL)


def _are_the_inputs(view: View) -> Observation:
    """At every look the labels are the tokens that the model was called with, place by place, and the loss ends under a tenth of its start."""
    shares, loss = view.finite(_AS_INPUT), view.finite(LOSS_TRAIN)
    if shares is None or len(shares) < _LOOKS:
        return unknown(_AS_INPUT)
    if loss is None or not len(loss):
        return unknown(LOSS_TRAIN)
    same = bool((shares.values >= view.limit("targets-as-input")).all())
    found = present(int(shares.steps[0]), int(shares.steps[-1]), channel=_AS_INPUT, count=len(shares), last=end_level(loss))
    return found if same and end_level(loss) < _LEARNT * float(loss.values[0]) else absent(_AS_INPUT)


def _copied_blind(view: View) -> Observation:
    """The labels are the tokens that go in, place by place, of a model whose attention hides what comes later: it is to tell the next one.

    What is to copy its input, as an autoencoder is, sees all of it.
    """
    found, future = _are_the_inputs(view), view.finite(_FUTURE)
    if found.state is not State.PRESENT:
        return found
    if future is None or not len(future) or int(future.steps[0]) > 1:
        return unknown("{channel} of every layer", channel=_FUTURE)
    hidden = float(future.values.max()) <= 1 - view.limit("targets-as-input")
    return present(found.start, found.end, channel=_AS_INPUT, count=found.numbers["count"]) if hidden else absent(_FUTURE)


def _not_the_inputs(view: View) -> Observation:
    """Some labels differ from the token that goes in at their place, at every look."""
    shares = view.finite(_AS_INPUT)
    if shares is None or len(shares) < _LOOKS:
        return unknown(_AS_INPUT)
    differ = bool((shares.values < view.limit("targets-as-input")).all())
    return present(int(shares.steps[0]), channel=_AS_INPUT, count=len(shares)) if differ else absent(_AS_INPUT)


def _future_is_hidden(view: View) -> Observation:
    """No attention layer shows a place that comes later, at any look from the first step on."""
    future = view.finite(_FUTURE)
    if future is None or len(future) < _LOOKS or int(future.steps[0]) > 1:
        return unknown("{channel} of every layer", channel=_FUTURE)
    hidden = not bool(future.values.any())
    return present(int(future.steps[0]), channel=_FUTURE, count=len(future)) if hidden else absent(_FUTURE)


def _future_is_open(view: View) -> Observation:
    """The targets are the tokens one place later in the input, and no attention layer hides that place."""
    nexts, future = view.finite(_AS_NEXT), view.finite(_FUTURE)
    for channel, series in ((_AS_NEXT, nexts), (_FUTURE, future)):
        if series is None or not len(series):
            return unknown(channel)
    if nexts is None or future is None or int(future.steps[0]) > 1:  # the first step alone looks at all layers
        return unknown("{channel} of every layer", channel=_FUTURE)
    share = float(nexts.values.min())
    is_open = min(share, float(future.values.min())) >= view.limit("targets-as-input")
    return present(int(future.steps[0]), channel=_FUTURE, share=share) if is_open else absent(_FUTURE)


DETECTORS = (
    Detector("targets-all-equal", (_SPREAD, _LEVEL), _all_equal, "every target is {value:.4g}, in each of the {count} batches that were looked at", "the targets differ, or were not seen often enough", _RECORD),
    Detector("targets-vary", (_SPREAD, _LEVEL), _vary, "the targets differ within the batches that were looked at, or from one to the next", "the targets are all the same", _RECORD),
    Detector("targets-nonfinite", (_LEVEL,), _nonfinite, "the targets at step {start} are not finite", "every recorded target is finite", _RECORD),
    Detector("targets-are-the-inputs", (_AS_INPUT, LOSS_TRAIN), _are_the_inputs, "the labels are the tokens that go into the model, place by place, in all {count} batches that were looked at, and the loss goes to {last:.3g}", "the labels are not the inputs", _RECORD, (_SAME,)),
    Detector("targets-copied-behind-mask", (_AS_INPUT, _FUTURE, LOSS_TRAIN), _copied_blind, "attention hides what comes later, as that of a model that predicts the next token does, and yet the labels are the tokens that go in", "no labels are the inputs of a model whose attention hides what comes later", _RECORD, (_SAME,)),
    Detector("labels-differ-from-inputs", (_AS_INPUT,), _not_the_inputs, "in none of the {count} batches that were looked at are the labels the tokens that go into the model", "the labels are the tokens that go into the model", _RECORD, (_SAME,)),
    Detector("future-is-hidden", (_FUTURE,), _future_is_hidden, "no attention layer shows a token that comes later, in any of {count} looks", "attention shows tokens that come later", _RECORD),
    Detector("answer-stands-in-sight", (_AS_NEXT, _FUTURE), _future_is_open, "the labels are the tokens one place later ({share:.0%} of them), and no attention layer hides that place", "attention hides the tokens that are to be predicted", _RECORD, (_SAME,)),
)  # fmt: skip
