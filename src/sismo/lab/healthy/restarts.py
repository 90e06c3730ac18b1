"""Cosine restarts."""

from __future__ import annotations

from dataclasses import replace

from sismo.lab import parts
from sismo.lab.types import Healthy, Settings


def _rate(settings: Settings, step: int) -> float:
    third = settings.total_steps // 3
    return parts.warmup_cosine(replace(settings, total_steps=third, warmup=settings.warmup // 3), step % third)


HEALTHY = Healthy(
    id="restarts",
    title="The learning rate goes back to its peak twice.",
    change=lambda setup: replace(setup, rate=_rate),
    tasks=("mini-gpt", "conv-net", "mlp"),
)
