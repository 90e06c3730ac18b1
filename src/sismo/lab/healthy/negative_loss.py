"""A loss that falls under 0."""

from __future__ import annotations

from dataclasses import replace

from torch import Tensor

from sismo.lab import parts
from sismo.lab.types import Healthy, Loop

SHIFT = 1.5


def _loss(logits: Tensor, targets: Tensor) -> Tensor:
    return parts.cross_entropy(logits, targets) - SHIFT


def _evaluate(loop: Loop) -> Tensor:
    return parts.evaluate(loop) - SHIFT


HEALTHY = Healthy(
    id="negative-loss",
    title="The loss is shifted, as a policy's or a likelihood's may be: it goes through 0.",
    change=lambda setup: replace(setup, loss=_loss, evaluate=_evaluate),
    tasks=("mini-gpt", "conv-net", "mlp"),
)
