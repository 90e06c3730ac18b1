"""A run with small batches."""

from __future__ import annotations

from sismo.lab.changes import setting
from sismo.lab.types import Healthy

HEALTHY = Healthy(
    id="small-batch",
    title="Batches are so small that the loss is mostly noise.",
    change=lambda setup: setting(setup, batch=8),
    tasks=("mini-gpt", "conv-net", "mlp"),
)
