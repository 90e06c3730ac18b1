"""Weights & Biases as a mirror: ``Recorder(..., mirrors=[WandbMirror(wandb.init(mode="offline"))])``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class WandbMirror:
    """Passes every row on to a run of wandb, which stays its owner's."""

    def __init__(self, run: Any) -> None:
        self._run = run

    def row(self, step: int, values: Mapping[str, float]) -> None:
        """One log call a row; the step is a column, so that the loop may log steps of its own."""
        self._run.log({**values, "sismo_step": step})
