"""Weights that start twice too large."""

from __future__ import annotations

from sismo.lab.changes import inflated
from sismo.lab.types import Fault

FAULT = Fault(
    id="init-x2",
    title="Every weight of the linear layers and embeddings starts twice too large.",
    truth=("init-too-large",),
    change=lambda setup, step: inflated(setup, 2.0),
    tasks=("mini-gpt", "mlp"),
    panel="activations",
    sign="activations and logits are too large at step 0",
)
