"""Weights that start 30 times too large."""

from __future__ import annotations

from sismo.lab.changes import inflated
from sismo.lab.types import Fault

FAULT = Fault(
    id="init-x30",
    title="Every weight of the linear layers and embeddings starts 30 times too large.",
    truth=("init-too-large",),
    change=lambda setup, step: inflated(setup, 30.0),
    tasks=("mini-gpt", "mlp"),
    panel="activations",
    sign="activations and logits are too large at step 0",
)
