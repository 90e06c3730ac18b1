"""What a mirror is: a second place that gets every row as it is written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol


class Mirror(Protocol):
    """Gets each row. One that raises is told of and left out from then on; recording goes on."""

    def row(self, step: int, values: Mapping[str, float]) -> None:
        """One row, in order of steps."""
        ...
