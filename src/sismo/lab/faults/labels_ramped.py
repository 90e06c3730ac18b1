"""Labels that get worse and worse."""

from __future__ import annotations

from sismo.lab.changes import batches, mislabelled
from sismo.lab.types import Batch, Fault, Setup


def _changed(setup: Setup, step: int) -> Setup:
    def spoil(batch: Batch, age: int) -> Batch:
        return mislabelled(batch, 0.6 * age / (setup.settings.total_steps - step))

    return batches(setup, step, spoil)


FAULT = Fault(
    id="labels-ramped",
    title="From a step on a growing share of the labels is drawn at random.",
    truth=("labels-corrupted", "silent-divergence"),
    change=_changed,
    onset=0.4,
    tasks=("mini-gpt", "conv-net", "mlp"),
    panel="loss",
    sign="the loss rises slowly, for hundreds of steps",
)
