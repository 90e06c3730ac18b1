"""Whether a recorded model with dropout or batch norm was in training mode when it was trained."""

from __future__ import annotations

import numpy as np

from sismo.records.channels import LOSS_TRAIN, LOSS_VAL
from sismo.records.types import Series
from sismo.signals.types import Detector, Observation, absent, present, unknown
from sismo.signals.view import View

_CHANNEL = "batch/training"
_LEAST = 10
"""Steps in evaluation mode that are no accident."""


def _rows(view: View) -> Series | Observation:
    """The mode of each step, unknown where it is not known of nearly all."""
    mode, loss = view.finite(_CHANNEL), view.series(LOSS_TRAIN)
    if mode is None or loss is None or len(mode) < max(_LEAST, 0.9 * len(loss)):
        return unknown(_CHANNEL)
    return mode


def _left(view: View) -> Observation:
    """In training mode, then an evaluation, and in evaluation mode from the next step to the end."""
    mode = _rows(view)
    if isinstance(mode, Observation):
        return mode
    trained = np.flatnonzero(mode.values > 0)
    first = int(trained[-1]) + 1 if trained.size else 0
    if not first or len(mode) - first < _LEAST or trained.size < 0.9 * first:
        return absent(_CHANNEL)
    last, since = int(mode.steps[first - 1]), int(mode.steps[first])
    evaluations = [
        series.steps for series in (view.series(LOSS_VAL), view.series("batch/mode"), *view.family("loss_val")) if series is not None
    ]
    between = any(bool(((steps >= last) & (steps <= since)).any()) for steps in evaluations)
    return present(since, int(mode.steps[-1]), channel=_CHANNEL, count=len(mode) - first) if between else absent(_CHANNEL)


def _all_along(view: View) -> Observation:
    mode = _rows(view)
    if isinstance(mode, Observation):
        return mode
    count = int(np.count_nonzero(mode.values == 0))
    return present(int(mode.steps[0]), channel=_CHANNEL, count=count) if count == len(mode) else absent(_CHANNEL)


_RECORD = "record the run with sismo.Recorder"
DETECTORS = (
    Detector("left-in-evaluation-mode", ("batch", LOSS_VAL), _left, "after an evaluation the model stays in evaluation mode, from step {start} to the end: its dropout or batch norm no longer trains", "the model is in training mode after each evaluation", _RECORD),
    Detector("trained-in-evaluation-mode", ("batch",), _all_along, "the model is in evaluation mode in all {count} steps, its dropout or batch norm with it", "the model is in training mode in some step", _RECORD),
)  # fmt: skip
