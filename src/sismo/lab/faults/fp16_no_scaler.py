"""fp16 without loss scaling."""

from __future__ import annotations

from sismo.lab.changes import setting
from sismo.lab.types import Fault

FAULT = Fault(
    id="fp16-no-scaler",
    title="The loss of an fp16 run is not scaled: small gradients are flushed to 0.",
    truth=("fp16-underflow",),
    change=lambda setup, step: setting(setup, dtype="fp16", loss_scaling=False),
    tasks=("mini-gpt", "mlp"),
    panel="loss-scale",
    sign="there is no loss scale, and the gradients of some matrices are exactly 0",
)
