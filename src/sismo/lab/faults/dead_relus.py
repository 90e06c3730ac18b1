"""Units that never fire."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import nn

from sismo.lab.types import Fault, Settings, Setup


def _changed(setup: Setup, step: int) -> Setup:
    def model(settings: Settings) -> nn.Module:
        built = setup.model(settings)
        with torch.no_grad():
            for module in built.get_submodule("blocks").modules():
                if isinstance(module, nn.Linear):
                    module.bias.fill_(-10.0)
        return built

    return replace(setup, model=model)


FAULT = Fault(
    id="dead-relus",
    title="The biases of the hidden layers start at -10: no unit ever fires.",
    truth=("dead-units",),
    change=_changed,
    tasks=("mlp",),
    panel="dead",
    sign="every unit of a layer is 0 on every row",
)
