"""A log as somebody pastes it, read as a run."""

from __future__ import annotations

from pathlib import Path

from sismo.judge import judge
from sismo.records.types import Run
from sismo.signals.presets import preset
from sismo.sources import load


def read(tmp_path: Path, text: str) -> Run:
    path = tmp_path / "pasted.log"
    path.write_text(text)
    (run,) = load(path)
    return run


def first_cause(run: Run) -> str:
    return next((found.cause.id for found in judge(run, preset("robust")).findings if found.severity.rank), "")
