"""A run that was resumed."""

from __future__ import annotations

from dataclasses import replace

from sismo.lab.types import Healthy

HEALTHY = Healthy(
    id="resumed",
    title="The process dies half way and comes back whole.",
    change=lambda setup: replace(setup, resume_at=setup.settings.total_steps // 2),
    tasks=("mini-gpt", "conv-net", "mlp"),
    allows=("resumed",),
)
