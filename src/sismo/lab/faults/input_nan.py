"""A NaN in the inputs."""

from __future__ import annotations

from sismo.lab.changes import batches
from sismo.lab.types import Batch, Fault


def _spoil(batch: Batch, age: int) -> Batch:
    if age == 0:
        batch.inputs[0].flatten()[0] = float("nan")
    return batch


FAULT = Fault(
    id="input-nan",
    title="One number of one batch is NaN.",
    truth=("nonfinite-input",),
    change=lambda setup, step: batches(setup, step, _spoil),
    onset=0.5,
    tasks=("conv-net", "mlp"),
    panel="batches",
    sign="the batch holds a NaN in the step in which the loss is lost",
    probe="nan",
)
