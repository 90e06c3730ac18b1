"""What the commands that write a page share: which run of a log it is about, and putting the file in its place."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from sismo.errors import UsageError

if TYPE_CHECKING:
    from sismo.postmortem import PostMortem
    from sismo.records.types import Run
    from sismo.signals.presets import Preset

_RANK = {"none": 0, "note": 1, "warning": 2, "broken": 3}


def worst(path: str, mapping: Mapping[str, str], limits: Preset) -> tuple[Run, PostMortem, int]:
    """The run of a log with the gravest finding, what was found, and how many other runs there are."""
    from sismo.judge import diagnose
    from sismo.sources import load

    pairs = [(run, diagnose(run, limits)) for run in load(path, mapping or None)]
    run, document = max(pairs, key=lambda pair: _RANK[pair[1].severity])
    return run, document, len(pairs) - 1


def one(path: str) -> Run:
    """The longest run of a log: a baseline is the run, not its false starts."""
    from sismo.sources import load

    return max(load(path), key=lambda run: max((len(series) for series in run.series.values()), default=0))


def save(path: Path, text: str) -> None:
    """Writes a file whole or not at all. Raises UsageError where that cannot be done."""
    beside = path.with_name(f".{path.name}.part")
    try:
        beside.write_text(text, encoding="utf-8", newline="")
        beside.replace(path)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from error
