"""Whether the loss gets to where no numbers of half precision lead."""

from __future__ import annotations

import numpy as np

from sismo.records.channels import LOSS_TRAIN
from sismo.signals.types import Detector, Observation, absent, present, unknown
from sismo.signals.view import View

_BEYOND = 1e20
"""More than the squares of 65504, the largest number of fp16, add up to over ten billion of them."""


def _past_half(view: View) -> Observation:
    loss = view.finite(LOSS_TRAIN)
    if loss is None or not len(loss):
        return unknown(LOSS_TRAIN)
    over = np.flatnonzero(np.abs(loss.values) > _BEYOND)
    if not over.size:
        return absent(LOSS_TRAIN)
    return present(int(loss.steps[over[0]]), channel=LOSS_TRAIN, value=float(loss.values[over[0]]))


DETECTORS = (
    Detector("loss-past-half", (LOSS_TRAIN,), _past_half, "the loss is {value:.3g} at step {start}, where no numbers of half precision lead", "no loss is past what numbers of half precision lead to"),
)  # fmt: skip
