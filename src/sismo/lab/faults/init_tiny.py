"""Weights that start far too small."""

from __future__ import annotations

from sismo.lab.changes import inflated
from sismo.lab.types import Fault

FAULT = Fault(
    id="init-tiny",
    title="Every weight of the linear layers and embeddings starts 10,000 times too small.",
    truth=("init-too-small", "vanishing-gradients", "no-learning"),
    change=lambda setup, step: inflated(setup, 1e-4),
    tasks=("mlp",),
    panel="activations",
    sign="activations are next to nothing at step 0",
)
