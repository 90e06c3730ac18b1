"""A learning rate in steps."""

from __future__ import annotations

from dataclasses import replace

from sismo.lab.types import Healthy, Settings


def _rate(settings: Settings, step: int) -> float:
    passed = (step >= settings.total_steps // 2) + (step >= 3 * settings.total_steps // 4)
    return settings.lr * min(1.0, (step + 1) / settings.warmup) * 0.1**passed


HEALTHY = Healthy(
    id="step-decay",
    title="The learning rate falls to a tenth twice.",
    change=lambda setup: replace(setup, rate=_rate),
    tasks=("mini-gpt", "conv-net", "mlp"),
)
