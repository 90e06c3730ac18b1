"""Failure 1 of the exam: the weights start 100 times too large."""

from __future__ import annotations

from sismo.lab.changes import inflated
from sismo.lab.types import Fault

FACTOR = 100.0


def fault(factor: float = FACTOR) -> Fault:
    """The fault at another factor."""
    return Fault(
        id="bad-init",
        title="Every weight of the linear layers and embeddings starts 100 times too large.",
        truth=("init-too-large",),
        change=lambda setup, step: inflated(setup, factor),
        tasks=("mini-gpt",),
        panel="activations",
        sign="activations are huge at step 0, before any training",
    )


FAULT = fault()
