"""Weights that start 5 times too large."""

from __future__ import annotations

from sismo.lab.changes import inflated
from sismo.lab.types import Fault

FAULT = Fault(
    id="init-x5",
    title="Every weight of the linear layers and embeddings starts 5 times too large.",
    truth=("init-too-large",),
    change=lambda setup, step: inflated(setup, 5.0),
    tasks=("mini-gpt", "mlp"),
    panel="activations",
    sign="activations and logits are too large at step 0",
)
