"""Failure 3 of the exam: the causal mask is all ones, so every place sees what it has to predict."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor, nn

from sismo.lab.models.mini_gpt import MiniGPT
from sismo.lab.types import Fault, Settings


def ones(length: int) -> Tensor:
    """Every place sees every other: (length, length)."""
    return torch.ones(length, length, dtype=torch.bool)


def _model(settings: Settings) -> nn.Module:
    return MiniGPT(settings, mask=ones)


FAULT = Fault(
    id="broken-mask",
    title="The causal mask is all ones: every token sees the ones after it.",
    truth=("causal-mask-broken",),
    change=lambda setup, step: replace(setup, model=_model),
    panel="loss",
    sign="training and validation loss fall to almost 0 together, and at times heads look at a single key",
    probe="causal",
    hidden=lambda settings: settings.layout == "chunks",
)
