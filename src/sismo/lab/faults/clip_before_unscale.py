"""Clipping that acts on scaled gradients."""

from __future__ import annotations

from dataclasses import replace

from torch import nn

from sismo.lab.changes import setting
from sismo.lab.types import Fault, Loop, Setup


def _clip(loop: Loop) -> None:
    nn.utils.clip_grad_norm_(loop.model.parameters(), loop.settings.clip)


def _changed(setup: Setup, step: int) -> Setup:
    return replace(setting(setup, dtype="fp16"), clip=_clip)


FAULT = Fault(
    id="clip-before-unscale",
    title="Gradients of an fp16 run are clipped before they are unscaled.",
    truth=("clip-before-unscale",),
    change=_changed,
    tasks=("mini-gpt", "mlp"),
    panel="grad-norm",
    sign="the norm that is clipped follows the loss scale",
)
