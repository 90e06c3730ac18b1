"""Labels that are wrong from a step on."""

from __future__ import annotations

from sismo.lab.changes import batches, mislabelled
from sismo.lab.types import Fault

FAULT = Fault(
    id="labels-wrong",
    title="From a step on the labels are drawn at random.",
    truth=("labels-corrupted",),
    change=lambda setup, step: batches(setup, step, lambda batch, age: mislabelled(batch, 1.0)),
    onset=0.5,
    tasks=("mini-gpt", "conv-net", "mlp"),
    panel="loss",
    sign="the loss jumps and stays up, and the gradient norm with it",
)
