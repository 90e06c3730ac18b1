"""Updates that bf16 weights round away."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import nn

from sismo.lab.changes import setting
from sismo.lab.types import Fault, Settings, Setup


def _changed(setup: Setup, step: int) -> Setup:
    def model(settings: Settings) -> nn.Module:
        return setup.model(settings).to(torch.bfloat16)

    return replace(setting(setup, dtype="bf16", lr=setup.settings.lr / 30, lr_min=0.0), model=model)


FAULT = Fault(
    id="bf16-weights",
    title="The weights themselves are bf16: an update of under 0.4 % of a weight is rounded to nothing.",
    truth=("bf16-update-rounding",),
    change=_changed,
    tasks=("mini-gpt", "mlp"),
    panel="weights",
    sign="most updates change no weight",
)
