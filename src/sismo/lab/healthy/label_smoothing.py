"""Smoothed labels."""

from __future__ import annotations

from dataclasses import replace

from torch import Tensor
from torch.nn import functional

from sismo.lab.types import IGNORE, Healthy


def _loss(logits: Tensor, targets: Tensor) -> Tensor:
    return functional.cross_entropy(logits.flatten(0, -2), targets.flatten(), ignore_index=IGNORE, label_smoothing=0.1)


HEALTHY = Healthy(
    id="label-smoothing",
    title="The training loss has a floor that the validation loss has not.",
    change=lambda setup: replace(setup, loss=_loss),
    tasks=("mini-gpt", "conv-net", "mlp"),
)
