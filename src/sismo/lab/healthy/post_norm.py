"""A post-LN transformer."""

from __future__ import annotations

from sismo.lab.changes import setting
from sismo.lab.types import Healthy

HEALTHY = Healthy(
    id="post-norm",
    title="Layers are normalised after the residual sum.",
    change=lambda setup: setting(setup, norm="post"),
    tasks=("mini-gpt",),
)
