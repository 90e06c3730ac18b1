"""Another initialisation."""

from __future__ import annotations

from sismo.lab.changes import setting
from sismo.lab.types import Healthy

HEALTHY = Healthy(
    id="xavier",
    title="The weights start as Xavier has it.",
    change=lambda setup: setting(setup, init="xavier"),
    tasks=("mini-gpt",),
)
