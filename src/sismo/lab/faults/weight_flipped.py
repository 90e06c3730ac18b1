"""A weight whose exponent flips."""

from __future__ import annotations

import torch

from sismo.lab.changes import at_step, first_matrix
from sismo.lab.types import Fault, Loop


def _strike(loop: Loop) -> None:
    with torch.no_grad():
        first_matrix(loop.model).flatten()[0] *= 1e4


FAULT = Fault(
    id="weight-flipped",
    title="One weight is 10,000 times larger from a step on: a machine that computes wrong.",
    truth=("hardware-fault", "optimizer-state-corrupted"),
    change=lambda setup, step: at_step(setup, step, _strike),
    onset=0.5,
    tasks=("mini-gpt", "conv-net", "mlp"),
    panel="spectral",
    sign="one matrix jumps from a step to the next, with batch and learning rate as before",
    probe="replay",
)
