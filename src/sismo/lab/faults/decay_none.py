"""No weight decay."""

from __future__ import annotations

from sismo.lab.changes import setting
from sismo.lab.types import Fault

FAULT = Fault(
    id="decay-none",
    title="There is no weight decay.",
    truth=("weight-decay-too-low",),
    change=lambda setup, step: setting(setup, weight_decay=0.0),
    tasks=("mini-gpt", "conv-net", "mlp"),
    panel="weights",
    sign="the weight norm grows to the end",
)
