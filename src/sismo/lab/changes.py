"""What several faults do: a setup goes in, and comes out with one field changed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import nn

from sismo.lab.types import Settings, Setup


def setting(setup: Setup, **values: Any) -> Setup:
    """Other settings: the configuration itself is wrong, and the manifest says so."""
    return replace(setup, settings=replace(setup.settings, **values))


def inflated(setup: Setup, factor: float) -> Setup:
    """The weights of every Linear and Embedding times ``factor`` before training begins; a shared matrix once."""

    def model(settings: Settings) -> nn.Module:
        built = setup.model(settings)
        weights = {id(module.weight): module.weight for module in built.modules() if isinstance(module, (nn.Linear, nn.Embedding))}
        with torch.no_grad():
            for weight in weights.values():
                weight.mul_(factor)
        return built

    return replace(setup, model=model)
