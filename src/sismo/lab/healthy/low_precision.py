"""A run in bf16."""

from __future__ import annotations

from sismo.lab.changes import setting
from sismo.lab.types import Healthy

HEALTHY = Healthy(
    id="bf16",
    title="The forward pass is in bf16.",
    change=lambda setup: setting(setup, dtype="bf16"),
    tasks=("mini-gpt", "mlp"),
)
