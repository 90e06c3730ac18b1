"""A constant learning rate."""

from __future__ import annotations

from dataclasses import replace

from sismo.lab.types import Healthy, Settings


def _rate(settings: Settings, step: int) -> float:
    return settings.lr * min(1.0, (step + 1) / settings.warmup)


HEALTHY = Healthy(
    id="constant-lr",
    title="After the warmup the learning rate stays where it is.",
    change=lambda setup: replace(setup, rate=_rate),
    tasks=("mini-gpt", "conv-net", "mlp"),
)
