"""``tail.jsonl``: the rows since the last finished part, and what is left of them after a crash."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import cast


@dataclass(frozen=True, slots=True)
class Row:
    """One row as it was written: its number, its step and its values."""

    number: int
    step: int
    values: dict[str, float]

    def line(self) -> bytes:
        """The row as a line of the tail. NaN and infinities are bare words, as pyarrow and Python read them."""
        return (json.dumps({"n": self.number, "step": self.step, "v": self.values}, separators=(",", ":")) + "\n").encode()


def read_tail(path: Path) -> tuple[list[Row], int]:
    """The rows of a tail and how many lines in it could not be read. The last line may be torn: that is no damage."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return [], 0
    lines = data.split(b"\n")
    # Whole lines end with a newline, so what stands after the last one is a write that a kill cut short.
    lines.pop()
    rows: list[Row] = []
    broken = 0
    for line in lines:
        row = _parse(line)
        if row is None:
            broken += bool(line)
        else:
            rows.append(row)
    return rows, broken


def _parse(line: bytes) -> Row | None:
    try:
        parsed = json.loads(line)
        record = cast("dict[str, object]", parsed)
        values = cast("dict[str, object]", record["v"])
        number, step = record["n"], record["step"]
        if not isinstance(number, int) or not isinstance(step, int):
            return None
        return Row(number, step, {key: float(cast(float, value)) for key, value in values.items()})
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
