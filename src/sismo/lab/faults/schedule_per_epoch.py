"""A schedule that moves once an epoch."""

from __future__ import annotations

from dataclasses import replace

from sismo.lab.changes import steps_an_epoch
from sismo.lab.types import Fault, Settings, Setup


def _jumped(setup: Setup, step: int) -> Setup:
    def rate(settings: Settings, now: int) -> float:
        return setup.rate(settings, now // steps_an_epoch(settings))

    return replace(setup, rate=rate)


FAULT = Fault(
    id="schedule-per-epoch",
    title="The scheduler is stepped once an epoch, though it counts in steps.",
    truth=("scheduler-stepped-per-epoch", "lr-too-low"),
    change=_jumped,
    tasks=("mini-gpt", "conv-net", "mlp"),
    panel="learning-rate",
    sign="the learning rate is a staircase that never gets to its peak",
)
