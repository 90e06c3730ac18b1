"""Losses with heavy tails."""

from __future__ import annotations

from dataclasses import replace

from torch import Tensor
from torch.nn import functional

from sismo.lab.types import IGNORE, Healthy


def _loss(logits: Tensor, targets: Tensor) -> Tensor:
    each = functional.cross_entropy(logits.flatten(0, -2), targets.flatten(), ignore_index=IGNORE, reduction="none")
    return (each + 0.02 * each**2).sum() / (targets != IGNORE).sum()


HEALTHY = Healthy(
    id="heavy-tails",
    title="Hard places count more than in proportion, so that some batches stand out.",
    change=lambda setup: replace(setup, loss=_loss),
    tasks=("mini-gpt", "conv-net", "mlp"),
)
