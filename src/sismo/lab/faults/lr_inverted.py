"""A cosine upside down."""

from __future__ import annotations

from dataclasses import replace

from sismo.lab.types import Fault, Settings, Setup


def _jumped(setup: Setup, step: int) -> Setup:
    def rate(settings: Settings, now: int) -> float:
        if now < settings.warmup:
            return settings.lr_min * (now + 1) / settings.warmup
        return settings.lr + settings.lr_min - setup.rate(settings, now)

    return replace(setup, rate=rate)


FAULT = Fault(
    id="lr-inverted",
    title="After the warmup the learning rate rises where it should fall.",
    truth=("lr-inverted",),
    change=_jumped,
    tasks=("mini-gpt", "conv-net", "mlp"),
    panel="learning-rate",
    sign="the learning rate rises to the end",
)
