"""Output logits that drift."""

from __future__ import annotations

from dataclasses import replace

from torch import Tensor

from sismo.lab import parts
from sismo.lab.types import Fault


def _loss(logits: Tensor, targets: Tensor) -> Tensor:
    drift = logits.logsumexp(-1).mean()
    return parts.cross_entropy(logits, targets) - 0.02 * (drift - drift.detach())


FAULT = Fault(
    id="logit-drift",
    title="From a step on nothing holds the logits' level: it drifts away.",
    truth=("output-logit-drift",),
    change=lambda setup, step: replace(setup, loss=_loss),
    tasks=("mini-gpt", "conv-net", "mlp"),
    panel="activations",
    sign="the logits grow all the time while the loss does not move",
)
