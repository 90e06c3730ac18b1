"""A loss scale that collapses."""

from __future__ import annotations

import torch

from sismo.lab.changes import at_step, first_matrix, setting
from sismo.lab.types import Fault, Loop, Setup


def _blow_up(loop: Loop) -> None:
    with torch.no_grad():
        first_matrix(loop.model).mul_(1e6)


def _changed(setup: Setup, step: int) -> Setup:
    return at_step(setting(setup, dtype="fp16"), step, _blow_up)


FAULT = Fault(
    id="scale-collapse",
    title="From a step on one matrix of an fp16 run is so large that its products overflow: the loss scale halves at every step.",
    truth=("loss-scale-collapse", "fp16-overflow"),
    change=_changed,
    onset=0.5,
    tasks=("mini-gpt", "mlp"),
    panel="loss-scale",
    sign="the loss scale halves at every step and falls under 1",
)
