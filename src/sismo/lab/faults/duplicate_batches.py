"""A loader that gives the same batch again and again."""

from __future__ import annotations

from dataclasses import replace

from sismo.lab.types import Batch, Data, Fault, Settings, Setup


def _changed(setup: Setup, step: int) -> Setup:
    def batch(settings: Settings, data: Data, number: int) -> Batch:
        return setup.batch(settings, data, min(number, step * settings.accumulation))

    return replace(setup, batch=batch)


FAULT = Fault(
    id="duplicate-batches",
    title="From a step on the loader gives one and the same batch.",
    truth=("duplicate-batch",),
    change=_changed,
    onset=0.5,
    tasks=("mini-gpt", "conv-net", "mlp"),
    panel="batches",
    sign="the fingerprint of the batch does not change any more",
)
