"""Gradients that are never set to zero."""

from __future__ import annotations

from dataclasses import replace

from sismo.lab.types import Fault, Loop


def _keep(loop: Loop) -> None:
    """Nothing is forgotten."""


FAULT = Fault(
    id="missing-zero-grad",
    title="zero_grad is never called: the gradients of all steps pile up.",
    truth=("missing-zero-grad",),
    change=lambda setup, step: replace(setup, zero=_keep),
    tasks=("mini-gpt", "conv-net", "mlp"),
    panel="grad-norm",
    sign="the gradient norm before clipping grows from step to step and is never small",
)
