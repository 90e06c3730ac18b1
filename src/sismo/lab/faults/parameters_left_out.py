"""Parameters that no optimizer holds."""

from __future__ import annotations

from dataclasses import replace

from torch import nn
from torch.optim import Optimizer

from sismo.lab import parts
from sismo.lab.types import Fault, Settings


def _optimizer(settings: Settings, model: nn.Module) -> Optimizer:
    return parts.adamw(settings, model.get_submodule("head"))


FAULT = Fault(
    id="parameters-left-out",
    title="The optimizer holds the head and nothing else.",
    truth=("parameter-not-in-optimizer",),
    change=lambda setup, step: replace(setup, optimizer=_optimizer),
    tasks=("mini-gpt", "conv-net", "mlp"),
    panel="weights",
    sign="whole blocks never change, though they have a gradient",
    probe="flow",
)
