"""Training that goes on past convergence."""

from __future__ import annotations

from sismo.lab.changes import setting
from sismo.lab.types import Fault

FAULT = Fault(
    id="past-convergence",
    title="There is a twentieth of the data, and training goes on long after it is known by heart.",
    truth=("overfitting",),
    change=lambda setup, step: setting(setup, rows=setup.settings.rows // 20),
    tasks=("mini-gpt", "conv-net", "mlp"),
    panel="loss",
    sign="the validation loss rises from its minimum on, while the training loss goes on falling",
)
