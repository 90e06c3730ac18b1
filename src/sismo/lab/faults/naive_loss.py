"""The log of a softmax in half precision."""

from __future__ import annotations

from dataclasses import replace

from torch import Tensor

from sismo.lab import parts
from sismo.lab.types import Fault


def _loss(logits: Tensor, targets: Tensor) -> Tensor:
    return parts.naive_cross_entropy(logits.half(), targets).float()


FAULT = Fault(
    id="naive-loss",
    title="The loss takes the log of a softmax in fp16, where a small probability is exactly 0.",
    truth=("log-of-zero",),
    change=lambda setup, step: replace(setup, loss=_loss),
    tasks=("mini-gpt", "conv-net", "mlp"),
    panel="loss",
    sign="the loss is infinite from one step to the next, with every activation finite",
    probe="nan",
)
