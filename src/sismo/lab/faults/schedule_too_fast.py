"""A schedule that is stepped several times an update."""

from __future__ import annotations

from dataclasses import replace

from sismo.lab.types import Fault, Settings, Setup


def _jumped(setup: Setup, step: int) -> Setup:
    def rate(settings: Settings, now: int) -> float:
        return setup.rate(settings, 4 * now)

    return replace(setup, rate=rate)


FAULT = Fault(
    id="schedule-too-fast",
    title="The scheduler is stepped four times an update.",
    truth=("scheduler-stepped-too-often",),
    change=_jumped,
    tasks=("mini-gpt", "conv-net", "mlp"),
    panel="learning-rate",
    sign="the learning rate is at its end after a quarter of the run",
)
