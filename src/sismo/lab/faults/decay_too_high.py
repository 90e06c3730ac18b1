"""A weight decay that is far too high."""

from __future__ import annotations

from sismo.lab.changes import setting
from sismo.lab.types import Fault

FAULT = Fault(
    id="decay-too-high",
    title="The weight decay is so high that the weights shrink to nothing.",
    truth=("weight-decay-too-high",),
    change=lambda setup, step: setting(setup, weight_decay=30.0),
    tasks=("mini-gpt", "conv-net", "mlp"),
    panel="weights",
    sign="the weight norm falls all the time",
)
