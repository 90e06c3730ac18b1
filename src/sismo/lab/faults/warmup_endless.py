"""A warmup that never ends."""

from __future__ import annotations

from dataclasses import replace

from sismo.lab.types import Fault, Settings, Setup


def _jumped(setup: Setup, step: int) -> Setup:
    def rate(settings: Settings, now: int) -> float:
        return settings.lr * (now + 1) / (10 * settings.total_steps)

    return replace(setup, rate=rate)


FAULT = Fault(
    id="warmup-endless",
    title="The warmup is longer than the run.",
    truth=("warmup-never-ends",),
    change=_jumped,
    tasks=("mini-gpt", "conv-net", "mlp"),
    panel="learning-rate",
    sign="the learning rate rises in a straight line to the end, far below the configured one",
)
