"""Attention that collapses onto one key."""

from __future__ import annotations

import torch

from sismo.lab.changes import from_step
from sismo.lab.models.mini_gpt import WIDTH, Attention
from sismo.lab.types import Fault, Loop


def _grow(loop: Loop) -> None:
    with torch.no_grad():
        for module in loop.model.modules():
            if isinstance(module, Attention):
                module.qkv.weight[: 2 * WIDTH].mul_(1.02)


FAULT = Fault(
    id="attention-collapse",
    title="From a step on queries and keys grow by 2 % a step: every head ends on a single key.",
    truth=("attention-logit-growth", "dead-heads"),
    change=lambda setup, step: from_step(setup, step, _grow),
    onset=0.3,
    panel="dead",
    sign="the entropy of the heads falls to 0 as their logits grow",
)
