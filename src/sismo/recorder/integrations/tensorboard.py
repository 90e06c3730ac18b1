"""TensorBoard as a mirror: ``Recorder(..., mirrors=[TensorBoardMirror(SummaryWriter("logs"))])``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class TensorBoardMirror:
    """Passes every row on to a ``SummaryWriter``, which stays its owner's."""

    def __init__(self, writer: Any) -> None:
        self._writer = writer

    def row(self, step: int, values: Mapping[str, float]) -> None:
        """One scalar a channel."""
        for channel, value in values.items():
            self._writer.add_scalar(channel, value, step)
