"""The run folder on disk: its file names, its schema version, and how a header is spelled in JSON.

    RUN/manifest.json            schema, status, header
    RUN/metrics/part-A-B.parquet finished parts, rows A to B in the order in which they were written; column ``step`` and one per channel;
                                 null where nothing was logged, NaN where NaN was logged
    RUN/metrics/tail.jsonl       rows since the last part: ``{"n": row number, "step": .., "v": {channel: value}}``
    RUN/events.jsonl             ``{"step": .., "kind": .., "data": {..}}``
    RUN/writer.lock              process id of the writer, while there is one

A row number is never used twice, so a row that is both in a part and still in the tail (a crash between the two) counts once.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from sismo.errors import RunFormatError
from sismo.records.types import Header

SCHEMA_VERSION = 1
MANIFEST = "manifest.json"
METRICS = "metrics"
TAIL = "tail.jsonl"
EVENTS = "events.jsonl"
LOCK = "writer.lock"
BATCHES = "batches"
"""Folder of a run in which the recorder keeps the batches of steps that went wrong."""

_PART = re.compile(r"part-(\d+)-(\d+)\.parquet")


def part_name(first: int, last: int) -> str:
    """File name of the part that holds rows ``first`` to ``last``."""
    return f"part-{first:09d}-{last:09d}.parquet"


def parts_in(folder: Path) -> list[tuple[int, int, Path]]:
    """First row, last row and path of every finished part, in order; unfinished files are not parts."""
    metrics = folder / METRICS
    if not metrics.is_dir():
        return []
    found = [(int(match[1]), int(match[2]), child) for child in metrics.iterdir() if (match := _PART.fullmatch(child.name))]
    return sorted(found, key=lambda part: (part[0], part[1]))


def header_to_json(header: Header) -> dict[str, object]:
    """The header as plain JSON values."""
    return {
        name: dict(cast("Mapping[str, object]", value)) if isinstance(value, Mapping) else value
        for name, value in header._asdict().items()
        if name != "status"
    }


def header_from_json(data: Mapping[str, object], status: str | None) -> Header:
    """The header from a manifest. Keys of a later minor version are ignored, and values of another kind than theirs are not known."""
    known = {key: value for key, value in data.items() if key in Header._fields and key != "status" and _fits(key, value)}
    return Header(**{"source": "sismo-run", **known}, status=status)  # pyright: ignore[reportArgumentType] - checked above


_NUMBERS = {"total_steps", "warmup_steps", "checkpoint_every", "vocab_size", "entropy", "accumulation", "clip"}


def _fits(key: str, value: object) -> bool:
    if key == "config":
        return isinstance(value, Mapping)
    if key in _NUMBERS:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return isinstance(value, str)


def write_json(path: Path, document: Mapping[str, object]) -> None:
    """Writes a document so that a reader sees the old one or the new one, never half of either."""
    temporary = path.with_name(f".{path.name}.tmp")
    with open(temporary, "w", encoding="utf-8") as file:
        json.dump(document, file, indent=1, default=str)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)


def read_manifest(folder: Path) -> dict[str, object]:
    """The manifest of a run. Raises ``RunFormatError`` when it is missing or broken."""
    path = folder / MANIFEST
    try:
        document = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise RunFormatError(str(folder), f"a folder that sismo.Recorder wrote, and there is no {MANIFEST} in it; check the path") from None
    except (ValueError, OSError) as error:
        raise RunFormatError(str(path), f"a JSON document ({error})") from None
    if not isinstance(document, dict) or not isinstance(cast("dict[str, object]", document).get("schema"), int):
        raise RunFormatError(str(path), "an object with a schema version")
    return cast("dict[str, object]", document)


def writer_of(folder: Path) -> int | None:
    """Process id of the live writer of a run, or None."""
    try:
        pid = int((folder / LOCK).read_text("ascii").strip())
        os.kill(pid, 0)
    except (OSError, ValueError, OverflowError):
        return None
    return pid
