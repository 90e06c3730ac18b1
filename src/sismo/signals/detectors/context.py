"""What kind of run it is: its dtype and its objective, from the header and the shape of its numbers."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from sismo.records.channels import LOSS_TRAIN
from sismo.signals.kind import goes_below_zero, language_sign
from sismo.signals.levels import level
from sismo.signals.standing import stays
from sismo.signals.trend import block_means, mann_kendall
from sismo.signals.types import Detector, Observation, absent, present, unknown
from sismo.signals.view import View


def _dtype_is(*names: str) -> Callable[[View], Observation]:
    def look(view: View) -> Observation:
        dtype = view.header.dtype
        if dtype is None:
            return unknown("the run's dtype")
        return present(dtype=dtype) if dtype in names else absent(dtype=dtype)

    return look


def _scaler_used(view: View) -> Observation:
    scale = view.scale()
    if scale is not None and not scale.placeholder:
        return present(scale=scale.last if scale.last is not None else float("nan"))
    dtype = view.header.dtype
    if dtype is None:
        return unknown("loss_scale")
    return absent(dtype=dtype)


_WEIGHT = re.compile(
    r"(?<![a-z])(beta|lambda|(kl|kld|loss|aux|adv|gp|reg|anneal\w*)_?(weight|coef|coeff|beta|lambda|w)|weight_?(kl|kld)|annealing)(?![a-z])"
)
"""What the weight of a term is called where it is logged beside the loss."""
_SURE = 1.96
_MANY = 100
"""Rows after which no first reward explains a leap."""
_CEILING = 100
"""How many times what it was in the first half of the log a loss may be at its end and still be as its objective makes it."""


def _explodes(view: View) -> bool:
    """Whether the loss ends at a size that no objective explains, or leaps to one and stays there."""
    loss = view.finite(LOSS_TRAIN)
    if loss is None or len(loss) < 20:
        return False
    size = np.abs(loss.values)
    if level(size[-max(3, size.size // 20) :]) > _CEILING * float(size[: size.size // 2].max()) > 0:
        return True
    leaps = [int(np.searchsorted(loss.steps, spike.start)) for spike in view.spikes(LOSS_TRAIN) if stays(spike)]
    return any(level(size[row:]) > _CEILING * float(size[:row].max()) > 0 for row in leaps if row >= _MANY)


def _rl(view: View) -> Observation:
    return present(objective="rl") if view.objective == "rl" and not _explodes(view) else absent()


def _gan(view: View) -> Observation:
    return present(objective="gan") if view.objective == "gan" and not _explodes(view) else absent()


def _by_design(view: View) -> Observation:
    """A loss that may rise, be negative or sit at zero: reinforcement, two networks, a contrast with a queue, a loss below zero, or one of
    whose terms the weight is raised.
    """
    if _explodes(view):
        return absent(LOSS_TRAIN)
    if view.objective in ("rl", "gan", "contrast"):
        return present(why=view.objective)
    loss = view.finite(LOSS_TRAIN)
    if loss is None or not len(loss):
        return unknown(LOSS_TRAIN)
    if goes_below_zero(view):
        return present(why="negative loss")
    growing = _grows(view)
    return present(why=growing) if growing else absent(LOSS_TRAIN)


def _grows(view: View) -> str:
    """The logged weight of a term that is raised, in steps or steadily, for as long as the loss rises; empty where there is none.

    The loss may rise for a tenth of the log more: what the weight has drawn up takes its time to settle.
    """
    loss = view.finite(LOSS_TRAIN)
    for name in view.channels if loss is not None else ():
        found = view.finite(name) if name.startswith("metric/") and _WEIGHT.search(name.lower()) else None
        if loss is None or found is None or len(found) < 10 or not float(found.values[-1]) > float(found.values[0]) >= 0.0:
            continue
        done = int(found.steps[np.flatnonzero(found.values < found.values.max())[-1]]) + (int(loss.steps[-1]) - int(loss.steps[0])) // 10
        late = loss.values[loss.steps > done]
        rises = late.size >= 8 and mann_kendall(block_means(late, 20)) > _SURE
        if bool((np.diff(found.values) >= 0).all()) and not rises:
            return name.partition("/")[2]
    return ""


def _language(view: View) -> Observation:
    """A language model by its vocabulary, its perplexity, or a first loss over ln(1000) = 6.9."""
    if why := language_sign(view):
        return present(why=why)
    return absent(LOSS_TRAIN) if view.rows(LOSS_TRAIN) else unknown(LOSS_TRAIN)


_DTYPE_HOW = "say the dtype in the log or in manifest.json (fp32, fp16, bf16)"

DETECTORS = (
    Detector("dtype-fp16", ("header.dtype",), _dtype_is("fp16"), "the run is in {dtype}", "the run is in {dtype}, not fp16", _DTYPE_HOW),
    Detector("dtype-bf16", ("header.dtype",), _dtype_is("bf16"), "the run is in {dtype}", "the run is in {dtype}, not bf16", _DTYPE_HOW),
    Detector("dtype-wide-range", ("header.dtype",), _dtype_is("fp32", "bf16"), "the run is in {dtype}", "the run is in {dtype}", _DTYPE_HOW),
    Detector("scaler-used", ("loss_scale",), _scaler_used, "a loss scaler is at work (scale {scale:.6g})", "no loss scaler: the run is in {dtype}", _DTYPE_HOW),
    Detector("reinforcement", ("header.objective",), _rl, "the keys of the log are those of a reinforcement objective", "no sign of a reinforcement objective"),
    Detector("adversarial", ("header.objective",), _gan, "the keys of the log are those of two networks that play against each other", "no sign of an adversarial objective"),
    Detector("loss-may-rise-by-design", ("header.objective", LOSS_TRAIN), _by_design, "this loss may rise, be negative or sit at 0 by design ({why})", "no sign that this loss may rise by design"),
    Detector("language-model", ("header.vocab_size", LOSS_TRAIN), _language, "it looks like a language model ({why})", "no sign of a language model", "say the vocabulary size in manifest.json"),
)  # fmt: skip
