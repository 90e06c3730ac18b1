"""JSON lines: one object a row (LLaMA-Factory, detectron2's metrics.json, mmcv's .log.json, wandb exports, hand-made logs)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import islice
from typing import cast

from sismo.records.types import Run
from sismo.sources.base import Content, Format, Sample, Table
from sismo.sources.literals import pairs
from sismo.sources.objects import SETTINGS_WITHIN, add_record, add_together, is_config
from sismo.sources.rows import RowBuilder, flatten

NAME = "json-lines"
COLUMNAR_BYTES = 4 * 1024 * 1024
"""From this size on the columnar reader pays for its import."""
MAX_REFUSED = 16
"""Blocks that it may leave to the tolerant one before it is not asked any more."""

_TOGETHER, _FEW = 1024, 8
"""Lines that are decoded in one go; lines that are added one by one where they cannot be together."""


class JsonLines(Format):
    name = NAME
    about = "JSON lines: one object a row, with NaN, Infinity and null as they come"

    def score(self, sample: Sample) -> int:
        if not sample.text or sample.is_dir:
            return 0
        lines = [line for line in sample.text.split("\n")[:40] if line.strip()]
        if len(sample.head) >= 60_000 and len(lines) > 1:
            lines.pop()
        good = sum(1 for line in lines if _looks_like_row(line))
        if not lines or good < 0.8 * len(lines):
            return 0
        named = sample.name.endswith((".jsonl", ".ndjson"))
        return 90 if named else 85 if len(lines) > 1 else 60

    def read(self, content: Content) -> list[Table | Run]:
        builder = RowBuilder(NAME)
        sure = content.plain and content.path is not None and content.path.stat().st_size >= COLUMNAR_BYTES
        seen = COLUMNAR_BYTES if sure else 0
        refused = 0
        for text in content.texts():
            seen += len(text)
            if seen > COLUMNAR_BYTES and refused < MAX_REFUSED:
                from sismo.sources.columnar import add_columns

                if add_columns(builder, text):
                    continue
                refused += 1
            add_lines(builder, text)
        return [builder.table()]


def _looks_like_row(line: str) -> bool:
    line = line.strip().rstrip(",")
    # Single quotes are Python's, printed into a text log: the reader of those knows what stands around them.
    return line.startswith("{") and line.endswith("}") and line[1:].lstrip()[:1] in '"}'


def add_lines(builder: RowBuilder, text: str) -> None:
    """The tolerant reader: one line at a time, whatever each is like."""
    lines = (line for line in text.split("\n") if line.strip())
    while chunk := list(islice(lines, _TOGETHER)):
        _add(builder, _decoded(chunk) or [_record(line) for line in chunk])


def _add(builder: RowBuilder, records: Sequence[dict[str, object] | None]) -> None:
    """Adds objects, together where that is safe; None stands for a line that is none."""
    if len(records) > _FEW:
        plain = [record for record in records if record and (builder.n_rows >= SETTINGS_WITHIN or not is_config(record))]
        if len(plain) < len(records) or not add_together(builder, plain):
            half = len(records) // 2
            _add(builder, records[:half])
            _add(builder, records[half:])
        return
    for record in records:
        if record is None:
            builder.skipped += 1
        elif (not add_record(builder, record) and record) or (builder.n_rows < SETTINGS_WITHIN and is_config(record)):
            builder.config.update(flatten(record))


def _decoded(chunk: list[str]) -> list[dict[str, object]]:
    """The objects of many lines in one go, which costs half; nothing where not every line is one."""
    try:
        parsed = cast("list[object]", json.loads(f"[{','.join(chunk)}]"))
    except (ValueError, RecursionError):
        return []
    alike = len(parsed) == len(chunk) and all(type(record) is dict for record in parsed)
    return cast("list[dict[str, object]]", parsed) if alike else []


def _record(line: str) -> dict[str, object] | None:
    text = line.strip()
    if not text.startswith("{"):
        return None
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        # Python literals (nan, None, single quotes), or an object that was cut off: its complete pairs still count.
        found = pairs(text.rstrip(",")) if text.rstrip(",").endswith("}") else {}
        return dict(found) if found else None
    return cast("dict[str, object]", parsed) if isinstance(parsed, dict) else None


FORMAT = JsonLines()
