"""A run with dropout."""

from __future__ import annotations

from sismo.lab.changes import setting
from sismo.lab.types import Healthy

HEALTHY = Healthy(
    id="dropout",
    title="The training loss is taken with dropout, so the validation loss lies under it.",
    change=lambda setup: setting(setup, dropout=0.2),
    tasks=("mini-gpt", "conv-net", "mlp"),
)
