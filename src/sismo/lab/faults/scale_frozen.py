"""A loss scale that does not give way."""

from __future__ import annotations

from dataclasses import replace

from torch.amp import GradScaler

from sismo.lab.changes import setting
from sismo.lab.types import Fault, Settings, Setup


def _scaler(settings: Settings) -> GradScaler:
    return GradScaler("cpu", init_scale=2.0**24, growth_factor=1 + 1e-12, backoff_factor=1 - 1e-12)


def _changed(setup: Setup, step: int) -> Setup:
    return replace(setting(setup, dtype="fp16"), scaler=_scaler)


FAULT = Fault(
    id="scale-frozen",
    title="The loss scale of an fp16 run is fixed at 2**24: every gradient overflows and every step is skipped.",
    truth=("loss-scale-frozen",),
    change=_changed,
    tasks=("mini-gpt", "mlp"),
    panel="loss-scale",
    sign="the loss scale is a straight line, and every step is skipped",
)
