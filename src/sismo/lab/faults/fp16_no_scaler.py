"""fp16 without loss scaling."""

from __future__ import annotations

from dataclasses import replace

from torch.amp import GradScaler

from sismo.lab.changes import setting
from sismo.lab.types import Fault, Settings, Setup


def _scaler(settings: Settings) -> GradScaler:
    return GradScaler("cpu", enabled=False)


def _changed(setup: Setup, step: int) -> Setup:
    return replace(setting(setup, dtype="fp16"), scaler=_scaler)


FAULT = Fault(
    id="fp16-no-scaler",
    title="The loss of an fp16 run is not scaled: small gradients are flushed to 0.",
    truth=("fp16-underflow",),
    change=_changed,
    tasks=("mini-gpt", "mlp"),
    panel="loss-scale",
    sign="there is no loss scale, and the gradients of some matrices are exactly 0",
)
