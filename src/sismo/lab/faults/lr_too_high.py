"""A learning rate that is far too high."""

from __future__ import annotations

from sismo.lab.changes import setting
from sismo.lab.types import Fault

FAULT = Fault(
    id="lr-too-high",
    title="The learning rate is 100 times what the model bears.",
    truth=("lr-too-high",),
    change=lambda setup, step: setting(setup, lr=100 * setup.settings.lr),
    tasks=("mini-gpt", "conv-net", "mlp"),
    panel="learning-rate",
    sign="the loss stops falling or rises as the learning rate grows",
)
