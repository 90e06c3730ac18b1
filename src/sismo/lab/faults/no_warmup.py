"""Failure 2 of the exam: the schedule never sees the warmup that is configured."""

from __future__ import annotations

from dataclasses import replace

from sismo.lab import parts
from sismo.lab.types import Fault, Settings


def _rate(settings: Settings, step: int) -> float:
    return parts.warmup_cosine(replace(settings, warmup=0), step)


FAULT = Fault(
    id="no-warmup",
    title="The learning rate starts at its maximum: there is no warmup.",
    truth=("missing-warmup",),
    change=lambda setup, step: replace(setup, rate=_rate),
    panel="learning-rate",
    sign="the learning rate starts at its maximum; where that is high the gradient norm jumps in the first steps",
)
