"""The run as it is configured."""

from __future__ import annotations

from sismo.lab.types import Healthy

HEALTHY = Healthy(
    id="plain",
    title="Nothing is odd about it.",
    change=lambda setup: setup,
    tasks=("mini-gpt", "conv-net", "mlp"),
)
