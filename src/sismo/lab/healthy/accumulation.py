"""A run with accumulation."""

from __future__ import annotations

from sismo.lab.changes import setting
from sismo.lab.types import Healthy

HEALTHY = Healthy(
    id="accumulation",
    title="A step is made of four micro-batches.",
    change=lambda setup: setting(setup, accumulation=4, batch=setup.settings.batch // 4),
    tasks=("mini-gpt", "conv-net", "mlp"),
)
