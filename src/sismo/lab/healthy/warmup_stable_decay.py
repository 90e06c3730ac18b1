"""Warmup, stable, decay."""

from __future__ import annotations

from dataclasses import replace

from sismo.lab.types import Healthy, Settings


def _rate(settings: Settings, step: int) -> float:
    left = (settings.total_steps - step) / (0.2 * settings.total_steps)
    return settings.lr * min(1.0, (step + 1) / settings.warmup, left)


HEALTHY = Healthy(
    id="warmup-stable-decay",
    title="The learning rate is constant for most of the run and falls at the end.",
    change=lambda setup: replace(setup, rate=_rate),
    tasks=("mini-gpt", "conv-net", "mlp"),
)
