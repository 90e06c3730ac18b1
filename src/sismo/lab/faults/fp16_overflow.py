"""fp16 numbers that grow past the largest one, with no scaler to skip the step."""

from __future__ import annotations

import torch

from sismo.lab.changes import first_matrix, from_step, setting
from sismo.lab.types import Fault, Loop, Setup


def _grow(loop: Loop) -> None:
    with torch.no_grad():
        first_matrix(loop.model).mul_(1.1)


def _changed(setup: Setup, step: int) -> Setup:
    return from_step(setting(setup, dtype="fp16", loss_scaling=False), step, _grow)


FAULT = Fault(
    id="fp16-overflow",
    title="From a step on one matrix of an fp16 run without a scaler grows by 10 % a step, until its products overflow.",
    truth=("fp16-overflow", "attention-logit-growth"),
    change=_changed,
    onset=0.5,
    panel="activations",
    sign="activations climb to 65504 and the loss is NaN from one step to the next",
)
