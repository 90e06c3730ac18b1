"""Dropout that stays on in evaluation."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from sismo.lab import parts
from sismo.lab.changes import setting
from sismo.lab.types import Fault, Loop, Setup


def _evaluate(loop: Loop) -> Tensor:
    with torch.no_grad(), parts.precision(loop.settings):
        return parts.cross_entropy(loop.model(loop.data.val.inputs), loop.data.val.targets)


def _changed(setup: Setup, step: int) -> Setup:
    return replace(setting(setup, dropout=0.3), evaluate=_evaluate)


FAULT = Fault(
    id="dropout-at-eval",
    title="The model is evaluated in training mode, with dropout on.",
    truth=("eval-in-train-mode",),
    change=_changed,
    tasks=("mini-gpt", "conv-net", "mlp"),
    panel="loss",
    sign="the validation loss is never under the training loss, and jitters",
)
