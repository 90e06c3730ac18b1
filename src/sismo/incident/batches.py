"""What was recorded of the batches of some steps: what tells them apart from others."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import cast

import numpy as np

from sismo.records.schema import BATCHES
from sismo.records.types import RECORDED, Run


def fingerprints(run: Run, first: int, last: int) -> list[str]:
    """The fingerprints of the batches from step first to last, as hexadecimal numbers; empty where none was recorded."""
    series = run.get("batch/fingerprint")
    inside = series.values[(series.steps >= first) & (series.steps <= last)] if series is not None else np.zeros(0)
    return [f"{int(value):012x}" for value in inside if np.isfinite(value)]


def ids(run: Run, first: int, last: int) -> list[str]:
    """The ids that the loop gave its samples in those steps; empty where it gave none."""
    found: list[str] = []
    for event in run.events_of("batch"):
        given = event.data.get("ids")
        if first <= event.step <= last and isinstance(given, (list, tuple)):
            found += [str(one) for one in cast("Sequence[object]", given)]
    return found


def kept(run: Run, step: int) -> bool:
    """Whether the batch of a step is in the run folder, so that it can be tried again."""
    return run.header.source == RECORDED and (Path(run.path) / BATCHES / f"step-{step:09d}.pt").is_file()
