"""A resume that forgets the schedule."""

from __future__ import annotations

from dataclasses import replace

from sismo.lab.changes import goes_on_at
from sismo.lab.types import Fault, Settings, Setup


def _changed(setup: Setup, step: int) -> Setup:
    again = goes_on_at(setup, step)

    def rate(settings: Settings, now: int) -> float:
        return setup.rate(settings, now - again if now >= again else now)

    return replace(setup, resume_at=step, rate=rate)


FAULT = Fault(
    id="resume-without-scheduler",
    title="After a resume the schedule starts from the beginning.",
    truth=("scheduler-not-restored",),
    change=_changed,
    onset=0.5,
    tasks=("mini-gpt", "conv-net", "mlp"),
    panel="learning-rate",
    sign="the learning rate warms up a second time",
)
