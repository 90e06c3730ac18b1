"""Layers that are frozen by mistake."""

from __future__ import annotations

from dataclasses import replace

from torch import nn

from sismo.lab.types import Fault, Settings, Setup


def _changed(setup: Setup, step: int) -> Setup:
    def model(settings: Settings) -> nn.Module:
        built = setup.model(settings)
        built.get_submodule("blocks").requires_grad_(False)
        return built

    return replace(setup, model=model)


FAULT = Fault(
    id="layer-frozen",
    title="Every block is frozen; only what stands round them learns.",
    truth=("frozen-by-mistake",),
    change=_changed,
    tasks=("mini-gpt", "conv-net", "mlp"),
    panel="grad-norm",
    sign="the blocks have no gradient and never change",
    probe="flow",
)
