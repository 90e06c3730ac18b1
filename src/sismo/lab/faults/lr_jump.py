"""A learning rate that jumps."""

from __future__ import annotations

from dataclasses import replace

from sismo.lab.types import Fault, Settings, Setup


def _jumped(setup: Setup, step: int) -> Setup:
    def rate(settings: Settings, now: int) -> float:
        return setup.rate(settings, now) * (30 if now >= step else 1)

    return replace(setup, rate=rate)


FAULT = Fault(
    id="lr-jump",
    title="The learning rate is 30 times higher from a step on.",
    truth=("lr-jump",),
    change=_jumped,
    onset=0.5,
    tasks=("mini-gpt", "conv-net", "mlp"),
    panel="learning-rate",
    sign="the learning rate jumps, and the loss after it",
)
