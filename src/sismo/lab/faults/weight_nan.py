"""A weight that turns into NaN."""

from __future__ import annotations

import torch

from sismo.lab.changes import at_step, first_matrix
from sismo.lab.types import Fault, Loop


def _strike(loop: Loop) -> None:
    with torch.no_grad():
        first_matrix(loop.model).flatten()[0] = float("nan")


FAULT = Fault(
    id="weight-nan",
    title="One weight is NaN from a step on: a machine that computes wrong.",
    truth=("nonfinite-weight", "hardware-fault", "rank-nonfinite"),
    change=lambda setup, step: at_step(setup, step, _strike),
    onset=0.5,
    tasks=("mini-gpt", "conv-net", "mlp"),
    panel="weights",
    sign="a weight is not finite before the activations are",
    probe="nan",
)
