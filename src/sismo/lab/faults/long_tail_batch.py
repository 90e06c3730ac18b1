"""One batch from the long tail."""

from __future__ import annotations

import torch

from sismo.lab.changes import batches
from sismo.lab.types import Batch, Fault


def _spoil(batch: Batch, age: int) -> Batch:
    if age:
        return batch
    if batch.inputs.is_floating_point():
        return batch._replace(inputs=batch.inputs.flip(-1) * 5)
    strange = torch.randint(400, 512, batch.inputs.shape, generator=torch.Generator().manual_seed(0))
    return batch._replace(inputs=strange, targets=torch.where(batch.targets >= 0, strange, batch.targets))


FAULT = Fault(
    id="long-tail-batch",
    title="One batch holds nothing but what the model has never seen.",
    truth=("long-tail-batch",),
    change=lambda setup, step: batches(setup, step, _spoil),
    onset=0.6,
    tasks=("mini-gpt", "conv-net", "mlp"),
    panel="grad-norm",
    sign="loss and gradient norm jump in one step and are back in the next",
)
