"""A run without clipping."""

from __future__ import annotations

from sismo.lab.changes import setting
from sismo.lab.types import Healthy

HEALTHY = Healthy(
    id="no-clip",
    title="The gradient is not clipped.",
    change=lambda setup: setting(setup, clip=float("inf")),
    tasks=("mini-gpt", "conv-net", "mlp"),
)
