"""A schedule that is never stepped."""

from __future__ import annotations

from dataclasses import replace

from sismo.lab.types import Fault, Settings, Setup


def _jumped(setup: Setup, step: int) -> Setup:
    def rate(settings: Settings, now: int) -> float:
        return setup.rate(settings, 0)

    return replace(setup, rate=rate)


FAULT = Fault(
    id="schedule-never-stepped",
    title="The scheduler is never stepped.",
    truth=("scheduler-never-stepped", "lr-too-low"),
    change=_jumped,
    tasks=("mini-gpt", "conv-net", "mlp"),
    panel="learning-rate",
    sign="the learning rate stays at the first value of its warmup",
)
