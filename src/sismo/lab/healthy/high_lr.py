"""A high learning rate that the model bears."""

from __future__ import annotations

from sismo.lab.changes import setting
from sismo.lab.types import Healthy

HEALTHY = Healthy(
    id="high-lr",
    title="The learning rate is three times higher than it had to be.",
    change=lambda setup: setting(setup, lr=3 * setup.settings.lr),
    tasks=("mini-gpt", "conv-net", "mlp"),
)
