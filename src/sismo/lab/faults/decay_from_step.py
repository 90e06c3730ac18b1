"""A weight decay that is raised on the way."""

from __future__ import annotations

from sismo.lab.changes import from_step
from sismo.lab.types import Fault, Loop


def _raise(loop: Loop) -> None:
    for group in loop.optimizer.param_groups:
        group["weight_decay"] = 30.0


FAULT = Fault(
    id="decay-from-step",
    title="From a step on the weight decay is 30.",
    truth=("weight-decay-too-high",),
    change=lambda setup, step: from_step(setup, step, _raise),
    onset=0.5,
    tasks=("mini-gpt", "conv-net", "mlp"),
    panel="weights",
    sign="the weight norm falls from that step on, and the loss rises slowly",
)
