"""A resume that forgets its place in the data."""

from __future__ import annotations

from dataclasses import replace

from sismo.lab.changes import goes_on_at
from sismo.lab.types import Batch, Data, Fault, Settings, Setup


def _changed(setup: Setup, step: int) -> Setup:
    again = goes_on_at(setup, step)

    def batch(settings: Settings, data: Data, number: int) -> Batch:
        first = again * settings.accumulation
        return setup.batch(settings, data, number - first if number >= first else number)

    return replace(setup, resume_at=step, batch=batch)


FAULT = Fault(
    id="resume-repeats-data",
    title="After a resume the loader starts from its first batch.",
    truth=("resume-repeats-data", "duplicate-batch"),
    change=_changed,
    onset=0.5,
    tasks=("mini-gpt", "conv-net", "mlp"),
    panel="batches",
    sign="the fingerprints after the resume are those of the beginning",
)
