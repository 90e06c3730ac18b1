"""Writes a synthetic run where a real logger would have left it, so that reading is measured along with judging."""

from __future__ import annotations

from pathlib import Path

from sismo.lab.drawn.catalogue import formats
from sismo.lab.drawn.types import LogFormat
from sismo.records.types import Run


def fitting(run: Run, seed: int) -> LogFormat:
    """A format that can hold everything this run logged: they take turns with the seed."""
    families = {channel.partition("/")[0] for channel in run.series}
    able = [form for form in formats().values() if families <= form.carries]
    return able[seed % len(able)]


def write(run: Run, folder: Path, name: str, form: LogFormat) -> Path:
    """Writes ``folder/name.suffix`` and returns it."""
    path = folder / f"{name}{form.suffix}"
    path.write_text("\n".join(form.lines(run)) + "\n", encoding="utf-8")
    return path
