"""No learning rate."""

from __future__ import annotations

from dataclasses import replace

from sismo.lab.types import Fault, Settings, Setup


def _jumped(setup: Setup, step: int) -> Setup:
    def rate(settings: Settings, now: int) -> float:
        return 0.0

    return replace(setup, rate=rate)


FAULT = Fault(
    id="lr-zero",
    title="The learning rate is 0 from the first step to the last.",
    truth=("lr-zero",),
    change=_jumped,
    tasks=("mini-gpt", "conv-net", "mlp"),
    panel="learning-rate",
    sign="the learning rate is 0",
)
