"""Overflows at the start."""

from __future__ import annotations

from dataclasses import replace

from torch.amp import GradScaler

from sismo.lab.changes import setting
from sismo.lab.types import Healthy, Settings


def _scaler(settings: Settings) -> GradScaler:
    return GradScaler("cpu", init_scale=2.0**24)


HEALTHY = Healthy(
    id="startup-overflows",
    title="The loss scale of an fp16 run starts too high and finds its level within some steps.",
    change=lambda setup: replace(setting(setup, dtype="fp16"), scaler=_scaler),
    tasks=("mini-gpt", "mlp"),
    allows=("loss-scale-startup",),
)
