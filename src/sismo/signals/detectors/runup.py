"""What led up to a non-finite loss or norm: growth over several rows, or calm until the row before."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sismo.records.channels import GRAD_NORM_PRE, LOSS_SCALE, LOSS_TRAIN
from sismo.records.types import Series
from sismo.signals.levels import failure, level, noise
from sismo.signals.types import Detector, Observation, Threshold, absent, present, unknown
from sismo.signals.view import View

_NORM_GROWTH = Threshold(
    "runup-norm-growth",
    10,
    10,
    "×",
    "catalogue: norm ×10 and more before the loss moves",
    "Growth of the gradient norm before a failure that counts as a run-up.",
)
_LOSS_GROWTH = Threshold("runup-loss-growth", 1.5, 1.5, "×", "chosen: half as much again is outside any noise that still trains", "Growth of the loss before a failure that counts as a run-up.")  # fmt: skip
_USUAL = 50
"""Rows before those that show how far the noise of the run reaches."""
_ROWS = 20
"""A run-up is looked for in so many rows before the failure; a divergence at a usable learning rate takes 1 to 10 steps."""


def _failure_step(view: View) -> int | None:
    """The step at which the run is lost: that of the loss, or that from which the norm stays non-finite, whichever comes first.

    Where both stay finite, it is the step after the last row before autograd stopped at a NaN.
    """
    steps: list[int] = []
    for channel in (LOSS_TRAIN, GRAD_NORM_PRE):
        series = view.series(channel)
        at = failure(series.values) if series is not None and len(series) else None
        if series is None or at is None:
            continue
        if channel == LOSS_TRAIN or not steps or bool(np.all(~np.isfinite(series.values[at:]))):
            steps.append(int(series.steps[at]))
    if not steps:
        steps = [event.step + 1 for event in view.events if event.step == view.last_step and event.data.get("tag") == "anomaly"]
    return min(steps, default=None)


def _growth(series: Series, step: int) -> tuple[float, int, float, float] | None:
    """(growth, step where it starts, level before, largest) over the rows before a step; None with fewer than 2 rows."""
    end = int(np.searchsorted(series.steps, step, side="left"))
    values, steps = series.values[:end], series.steps[:end]
    good = np.isfinite(values)
    values, steps = values[good], steps[good]
    if values.size < 2:
        return None
    window = min(_ROWS, max(1, values.size - 1))
    earlier = values[:-window] if values.size > window + 2 else values[:1]
    base = level(earlier[-100:])
    recent = values[-window:]
    top = int(np.argmax(recent))
    bar = max(base * 1.2, base + 3 * noise(earlier[-100:]))
    above = values > bar
    rising = np.nonzero(above[-window:])[0]
    start = int(steps[_beginning(above, values.size - window + int(rising[0]))]) if rising.size else step
    peak = float(recent[top])
    # What has come down again, more than halfway, led up to nothing.
    lasts = level(recent[-2:]) >= 0.5 * peak and float(recent[-2:].max()) - base >= 0.5 * (peak - base)
    # Nor what the rows before it reach as well, now and then.
    new = earlier.size < _USUAL or level(recent[-2:]) > float(earlier[-_USUAL:].max())
    growth = peak / base if base > 0 and lasts and new and rising.size else 1.0
    return growth, start, base, peak


def _beginning(above: NDArray[np.bool_], row: int) -> int:
    """The row where a stretch that is under way at this one began; a single row under the bar does not end it."""
    while row and above[max(0, row - 2) : row].any():
        row -= 1 if above[row - 1] else 2
    return row


def _norm(view: View) -> Observation:
    return _runup(view, GRAD_NORM_PRE, view.limit("runup-norm-growth"))


def _loss(view: View) -> Observation:
    return _runup(view, LOSS_TRAIN, view.limit("runup-loss-growth"))


def _runup(view: View, channel: str, enough: float) -> Observation:
    if not (view.rows(LOSS_TRAIN) or view.rows(GRAD_NORM_PRE)):
        return unknown(LOSS_TRAIN)
    step = _failure_step(view)
    if step is None:
        return absent(channel)
    series = view.series(channel)
    found = _growth(series, step) if series is not None else None
    if found is None:
        return unknown(channel) if series is None else unknown("rows of {what} before step {at}", what=channel, at=step)
    growth, start, base, top = found
    if growth < enough:
        gap = 3 * (series.interval if series is not None else 1)
        ending = (s for s in view.spikes(channel) if s.rows >= 3 and s.end < step <= s.end + gap and s.before > 0)
        # Of nats a third more may be a run-up, where it is far out of the noise; a norm has to grow by its factor.
        leading = next((s for s in ending if s.peak >= enough * s.before or (channel == LOSS_TRAIN and s.z >= 8)), None)
        if leading is None:
            return absent(channel)
        growth, start, base, top = leading.peak / leading.before, leading.start, leading.before, leading.peak
    # Of gradients a loss tells only at second hand.
    strength = 1.0 if channel == GRAD_NORM_PRE or view.rows(GRAD_NORM_PRE) else 0.85
    return present(start, step, strength=strength, channel=channel, growth=growth, base=base, top=top, failure=step)


def _calm(view: View) -> Observation:
    """Loss (and norm, where logged) stay within their noise until the row before the failure."""
    if not (view.rows(LOSS_TRAIN) or view.rows(GRAD_NORM_PRE)):
        return unknown(LOSS_TRAIN)
    step = _failure_step(view)
    if step is None:
        return absent(LOSS_TRAIN)
    loss = view.series(LOSS_TRAIN)
    rows = 0
    for series in (loss, view.series(GRAD_NORM_PRE)):
        found = _growth(series, step) if series is not None else None
        if found is None or series is None:
            continue
        limit = view.limit("runup-loss-growth") if series is loss else view.limit("runup-norm-growth") / 2
        led = any(s.rows >= 3 and s.end < step <= s.end + 3 * series.interval for s in view.spikes(series.channel))
        if found[0] >= limit or led:
            return absent(series.channel)
        rows = max(rows, int(np.searchsorted(series.steps, step)))
    if rows < 2:
        return unknown("rows of {what} before step {at}", what=LOSS_TRAIN, at=step)
    return present(step, strength=1.0 if rows >= 20 else 0.85, channel=LOSS_TRAIN, rows=rows)


def _abrupt(view: View) -> Observation:
    """The loss is lost for good, and nothing grew before."""
    calm, loss = _calm(view), view.series(LOSS_TRAIN)
    at = failure(loss.values) if loss is not None else None
    if calm.start is None or loss is None or at is None:
        return calm if at is not None or loss is None else absent(LOSS_TRAIN)
    return calm if bool(np.all(~np.isfinite(loss.values[at:]))) else absent(LOSS_TRAIN)


def _unseen(strength: float, seen: Callable[[View, int], bool]) -> Callable[[View], Observation]:
    """An abrupt NaN to the end of a log that says nothing of what else may have made it, and no probe does either."""

    def look(view: View) -> Observation:
        calm, loss = _calm(view), view.series(LOSS_TRAIN)
        if calm.start is None or loss is None:
            return calm
        found = any(event.kind == "probe" and event.data.get("origin") == "found" for event in view.events)
        at = failure(loss.values)
        forever = at is not None and bool(np.all(~np.isfinite(loss.values[at:]))) and bool(np.isnan(loss.values[at]))
        return (
            present(calm.start, strength=strength * calm.strength, channel=LOSS_TRAIN)
            if forever and not found and not seen(view, calm.start)
            else absent(LOSS_TRAIN)
        )

    return look


def _logged(*names: str) -> Callable[[View, int], bool]:
    return lambda view, step: any(channel in names or channel.partition("/")[0] in names for channel in view.channels)


def _weights_seen(view: View, step: int) -> bool:
    """Whether all weights, or all matrices, were looked at in the step that was lost: matrices take turns, and one may go bad between."""
    if any(bool((series.steps == step).any()) for series in view.family("weight_nonfinite")):
        return True
    matrices = view.family("spectral")
    if not matrices:
        return _logged("weight_norm")(view, step)
    return all(bool((series.steps == step).any()) for series in matrices)


def _dtype_unseen(view: View) -> Observation:
    return absent() if view.header.dtype is not None else _unseen(1.0, _logged(LOSS_SCALE, "act_near_limit"))(view)


DETECTORS = (
    Detector(
        id="norm-runup",
        reads=(GRAD_NORM_PRE, LOSS_TRAIN),
        look=_norm,
        present="the gradient norm grew {growth:.3g}× (from {base:.3g} to {top:.3g}) from step {start} to the failure at step {failure}",
        absent="the gradient norm did not grow before the failure",
        thresholds=(_NORM_GROWTH,),
        live=True,
    ),
    Detector(
        id="loss-runup",
        reads=(LOSS_TRAIN,),
        look=_loss,
        present="the loss grew {growth:.3g}× (from {base:.3g} to {top:.3g}) from step {start} to the failure at step {failure}",
        absent="the loss did not grow before the failure",
        thresholds=(_LOSS_GROWTH,),
        live=True,
    ),
    Detector(
        id="calm-before-nonfinite",
        reads=(LOSS_TRAIN, GRAD_NORM_PRE),
        look=_calm,
        present="nothing grew in the {rows} rows before step {start}: the failure is abrupt",
        absent="no failure comes without a run-up",
        thresholds=(_NORM_GROWTH, _LOSS_GROWTH),
        live=True,
    ),
    Detector("abrupt-and-forever", (LOSS_TRAIN, GRAD_NORM_PRE), _abrupt, "the loss is lost for good at step {start}, and nothing grew in the {rows} rows before", "the loss is not lost at once and for good", thresholds=(_NORM_GROWTH, _LOSS_GROWTH)),
    Detector("abrupt-nan-inputs-unseen", (LOSS_TRAIN,), _unseen(0.74, _logged("batch/nonfinite")), "the loss turns NaN at step {start} for good, and the log does not say whether the batch was finite", "no loss turns NaN without warning while the batches go unchecked", "record the run with sismo.Recorder"),
    Detector("abrupt-nan-weights-unseen", (LOSS_TRAIN,), _unseen(0.95, _weights_seen), "the loss turns NaN at step {start} for good, and the log does not say whether the weights were finite", "no loss turns NaN without warning while the weights go unwatched", "record the run with sismo.Recorder"),
    Detector("abrupt-nan-dtype-unseen", (LOSS_TRAIN, "header.dtype"), _dtype_unseen, "the loss turns NaN at step {start} for good, and the log does not say whether the run is in fp16", "no loss turns NaN without warning in a dtype that is not known", "say the dtype in the log or in manifest.json (fp32, fp16, bf16)"),
)  # fmt: skip
