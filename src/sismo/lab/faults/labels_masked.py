"""A batch whose labels are all masked."""

from __future__ import annotations

import torch

from sismo.lab.changes import batches
from sismo.lab.types import IGNORE, Batch, Fault


def _spoil(batch: Batch, age: int) -> Batch:
    return batch if age * 7 % 23 > 1 else batch._replace(targets=torch.full_like(batch.targets, IGNORE))


FAULT = Fault(
    id="labels-masked",
    title="From a step on every label of single batches is masked: the mean over nothing is 0/0.",
    truth=("all-labels-masked", "zero-over-zero"),
    change=lambda setup, step: batches(setup, step, _spoil),
    onset=0.5,
    tasks=("mini-gpt", "conv-net", "mlp"),
    panel="loss",
    sign="the loss is NaN from one step to the next, with every activation finite",
    probe="nan",
)
