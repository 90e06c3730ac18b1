"""Micro-batches that are summed."""

from __future__ import annotations

from dataclasses import replace

from torch import Tensor

from sismo.lab.changes import setting
from sismo.lab.types import Fault, Loop, Setup


def _backward(loop: Loop, loss: Tensor) -> Tensor:
    loop.scaler.scale(loss).backward()
    return loss.detach()


def _changed(setup: Setup, step: int) -> Setup:
    eighth = max(1, setup.settings.batch // 8)
    return replace(setting(setup, accumulation=8, batch=eighth), backward=_backward)


FAULT = Fault(
    id="accumulation-summed",
    title="The gradients of eight micro-batches are added, not averaged.",
    truth=("accumulation-not-averaged",),
    change=_changed,
    tasks=("mini-gpt", "conv-net", "mlp"),
    panel="loss",
    sign="the loss at the first step is eight times what an untrained model has",
)
