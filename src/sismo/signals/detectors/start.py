"""The first rows: whether the run began where an untrained model begins."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from sismo.records.channels import GRAD_NORM_PRE, LOSS_TRAIN
from sismo.signals.kind import LARGEST_ENTROPY, PER_TOKEN, classes, fine_tuned, names, without_vocabulary
from sismo.signals.levels import level
from sismo.signals.types import Detector, Observation, Threshold, absent, present, unknown
from sismo.signals.view import View

_NEAR = Threshold("first-loss-near", 0.5, 0.5, "nat", "preflight: ln V ± 0.5", "Distance of the first loss from ln V that is normal.")
_OVER = Threshold("first-loss-over", 1.75, 1.75, "nat", "preflight: 8.0 at V = 512 is ln V + 1.75", "First loss over ln V from which the start is broken.")  # fmt: skip
_UNDER = Threshold("first-loss-under", 2.25, 2.25, "nat", "preflight: 4.0 at V = 512 is ln V − 2.25", "First loss under ln V from which the model is not untrained.")  # fmt: skip
_NORM_HIGH = Threshold("first-norm-high", 100, 100, "1", "preflight: first gradient norm over 100", "First gradient norm that points at the initialisation or a sum.")  # fmt: skip
_NORM_LOW = Threshold("first-norm-low", 1e-3, 1e-3, "1", "preflight: first gradient norm under 0.001", "First gradient norm that points at degenerate targets.")  # fmt: skip


_THROWN_ONLY = 0.6
"""How clear it is that a loss starts over any guess, where nothing says that it is counted in nats."""


def _first_loss(view: View) -> tuple[int, float] | Observation:
    loss = view.series(LOSS_TRAIN)
    if loss is None or not len(loss):
        return unknown(LOSS_TRAIN)
    if int(loss.steps[0]) > max(1, 0.02 * int(loss.steps[-1])) and int(loss.steps[0]) > 1:
        return unknown("the first step of the run")
    return int(loss.steps[0]), float(loss.values[0])


def _against_guess(view: View, kind: str) -> Observation:
    first = _first_loss(view)
    if isinstance(first, Observation):
        return first
    step, value = first
    vocabulary = view.header.vocab_size
    if vocabulary is None or vocabulary < 2:
        return unknown("vocab_size")
    guess = math.log(vocabulary)
    if not math.isfinite(value):
        return unknown("a finite first loss")
    gap = value - guess
    loss = view.finite(LOSS_TRAIN)
    rough = view.noise(LOSS_TRAIN) if loss is not None else 0.0
    holds = {
        "near": abs(gap) <= view.limit("first-loss-near"),
        # One row of single examples may stand that high by chance, and a model that knows something else is sure of that.
        "over": gap > view.limit("first-loss-over") + 2 * rough and not fine_tuned(view),
        "under": gap < -view.limit("first-loss-under"),
    }[kind]
    numbers: dict[str, Any] = {"loss": value, "guess": guess, "vocab": vocabulary}
    return present(step, channel=LOSS_TRAIN, **numbers) if holds else absent(LOSS_TRAIN, **numbers)


def _over_any(view: View) -> Observation:
    """Without a vocabulary: a first loss that no vocabulary explains, in a run whose loss is a single term.

    A squared error or a sum may start anywhere, so the log has to be that of a language model, or the first norm thrown as well.
    """
    first = _first_loss(view)
    if isinstance(first, Observation):
        return first
    step, value = first
    loss = view.finite(LOSS_TRAIN)
    if view.family("loss_term") or view.objective is not None or loss is None or len(loss) < 5 or fine_tuned(view):
        return absent(LOSS_TRAIN, loss=value)
    if without_vocabulary(view) and classes(view) is None:  # no tokens and no classes: what is predicted may be of any size
        return absent(LOSS_TRAIN, loss=value)
    steady = level(loss.values[len(loss) // 2 :])
    early = level(loss.values[:5])
    high = (
        view.header.step_unit == "step"
        and step <= 1
        and min(value, early) > LARGEST_ENTROPY
        and early > 3 * steady
        and 0 < steady < LARGEST_ENTROPY
        and value > 3 * steady
    )
    norm = _norm(view)
    # A sum over frames (CTC) starts high as well, and its norm falls tenfold on the way; a bad start throws it a hundredfold.
    thrown = not isinstance(norm, Observation) and norm[1] > view.limit("first-norm-high") and norm[1] > 30 * norm[2]
    tokens = names(view, *PER_TOKEN, "token")
    # Large targets, and errors over a width that is learnt, start as high and throw the norm as far.
    strength = 1.0 if tokens else _THROWN_ONLY
    found = present(step, strength=strength, channel=LOSS_TRAIN, loss=value, steady=steady)
    return found if high and (thrown or tokens) else absent(LOSS_TRAIN, loss=value)


def _norm(view: View) -> tuple[int, float, float] | Observation:
    norm = view.finite(GRAD_NORM_PRE)
    if norm is None or not len(norm):
        return unknown(GRAD_NORM_PRE)
    if int(norm.steps[0]) > max(1, 0.02 * int(norm.steps[-1])):
        return unknown("the first step of the run")
    return int(norm.steps[0]), float(norm.values[0]), level(norm.values[len(norm) // 2 :])


def _norm_high(view: View) -> Observation:
    """Over 100, and far over where the norm settles: a norm of that size all along is only another scale."""
    found = _norm(view)
    if isinstance(found, Observation):
        return found
    step, first, steady = found
    rows = view.rows(GRAD_NORM_PRE)
    high = first > view.limit("first-norm-high") and (rows < 5 or first > 10 * steady)
    return present(step, channel=GRAD_NORM_PRE, norm=first, steady=steady) if high else absent(GRAD_NORM_PRE, norm=first)


def _norm_low(view: View) -> Observation:
    """Under 0.001, and it stays there. Not of an objective of rewards, whose gradient is 0 wherever no reward differs."""
    found = _norm(view) if view.objective != "rl" else absent(GRAD_NORM_PRE, norm=0.0)
    if isinstance(found, Observation):
        return found
    step, first, steady = found
    low = first < view.limit("first-norm-low") and steady < 10 * view.limit("first-norm-low")
    return present(step, channel=GRAD_NORM_PRE, norm=first) if low else absent(GRAD_NORM_PRE, norm=first)


def _norm_usual(view: View) -> Observation:
    found = _norm(view)
    if isinstance(found, Observation):
        return found
    step, first, _ = found
    return present(step, channel=GRAD_NORM_PRE, norm=first) if 0.1 <= first <= 10 else absent(GRAD_NORM_PRE, norm=first)


def _lost_soon(view: View) -> Observation:
    """The loss is lost within the first 30 steps, as the user's first designed failure has it."""
    loss = view.series(LOSS_TRAIN)
    if loss is None or not len(loss):
        return unknown(LOSS_TRAIN)
    bad = np.nonzero(~np.isfinite(loss.values))[0]
    soon = bad.size and int(loss.steps[bad[0]]) <= 30
    return present(int(loss.steps[bad[0]]), channel=LOSS_TRAIN) if soon else absent(LOSS_TRAIN)


_LOSS, _GRAD = (LOSS_TRAIN, "header.vocab_size"), (GRAD_NORM_PRE,)
_HOW = "put vocab_size into manifest.json, or log the first step"
DETECTORS = (
    Detector("first-loss-is-a-guess", _LOSS, partial(_against_guess, kind="near"), "the first loss, {loss:.4g}, is the uniform guess over {vocab} ({guess:.4g})", "the first loss, {loss:.4g}, is not the uniform guess over {vocab} ({guess:.4g})", _HOW, (_NEAR,)),
    Detector("first-loss-over-guess", _LOSS, partial(_against_guess, kind="over"), "the first loss, {loss:.4g}, is far over the uniform guess over {vocab} ({guess:.4g})", "the first loss is not over the uniform guess", _HOW, (_OVER,)),
    Detector("first-loss-under-guess", _LOSS, partial(_against_guess, kind="under"), "the first loss, {loss:.4g}, is far under the uniform guess over {vocab} ({guess:.4g})", "the first loss is not under the uniform guess", _HOW, (_UNDER,)),
    Detector("first-loss-over-any-guess", (LOSS_TRAIN,), _over_any, "the first loss, {loss:.4g}, is more than a uniform guess over any vocabulary costs, and it settles at {steady:.4g}", "a uniform guess explains the first loss"),
    Detector("first-norm-high", _GRAD, _norm_high, "the first gradient norm is {norm:.4g}, and it settles at {steady:.3g}", "the first gradient norm, {norm:.3g}, is of the size that follows", thresholds=(_NORM_HIGH,)),
    Detector("first-norm-low", _GRAD, _norm_low, "the first gradient norm is {norm:.2g}: nothing to learn from", "the first gradient norm is {norm:.3g}", thresholds=(_NORM_LOW,)),
    Detector("first-norm-usual", _GRAD, _norm_usual, "the first gradient norm, {norm:.3g}, lies between 0.1 and 10", "the first gradient norm, {norm:.3g}, lies outside 0.1 to 10"),
    Detector("loss-lost-within-30-steps", (LOSS_TRAIN,), _lost_soon, "the loss is lost by step {start}", "the loss is not lost in the first 30 steps"),
)  # fmt: skip
