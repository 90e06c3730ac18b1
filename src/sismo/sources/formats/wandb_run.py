"""A W&B run on disk, ``run-ID.wandb``: LevelDB's log frames around protobuf records; its history is ``key`` and ``value_json``."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from pathlib import Path

from sismo.errors import MalformedLog
from sismo.records.types import Note, Run
from sismo.sources.base import Content, Format, Sample, Table
from sismo.sources.objects import add_record
from sismo.sources.protobuf import fields
from sismo.sources.rows import RowBuilder, flatten

_MAGIC = b":W&B"
_FILE_HEADER = 7
_BLOCK = 32 * 1024
_HEADER = struct.Struct("<IHB")
_FULL, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4
_HISTORY, _CONFIG, _RUN = 2, 5, 17
"""Fields of a record. In the first two, field 1 is an item; in an item, 1 is the key, 2 a part of a nested key, 16 the value as JSON."""
_STARTED_WITH = 4
"""The configuration that a run was started with, inside the run."""


class WandbRun(Format):
    name = "wandb-run"
    about = "a W&B run on disk: run-ID.wandb, or its folder"

    def score(self, sample: Sample) -> int:
        if sample.is_dir:
            return 80 if sample.path is not None and _file_in(sample.path) is not None else 0
        return 99 if sample.head.startswith(_MAGIC) else 0

    def read(self, content: Content) -> list[Table | Run]:
        folder = content.path if content.path is not None and content.path.is_dir() else None
        file = _file_in(folder) if folder is not None else None
        builder = RowBuilder(self.name)
        try:
            for record in _records(file.read_bytes() if file is not None else content.data()):
                _add(builder, record)
        except (ValueError, IndexError, struct.error):
            builder.notes.append(Note("partial-log", "the last event is cut off; what came before was read"))
        if not builder.n_rows:
            raise MalformedLog(content.label, "the run holds no history; was anything logged with wandb.log?")
        return [builder.table()]


def _file_in(folder: Path) -> Path | None:
    """The first run file of a folder; asked by name alone, as a listing of a bucket has no more."""
    runs = [child for child in folder.iterdir() if child.name.startswith("run-") and child.name.endswith(".wandb") and child.is_file()]
    return min(runs, key=lambda child: child.name, default=None)


def _records(data: bytes) -> Iterator[bytes]:
    """Whole records, put together from their frames; a block of 32 KiB never has a frame begin in its last 6 bytes."""
    at, parts = _FILE_HEADER, b""
    while at + _HEADER.size <= len(data):
        left = _BLOCK - at % _BLOCK
        if left < _HEADER.size:
            at += left
            continue
        _, size, kind = _HEADER.unpack_from(data, at)
        if kind not in (_FULL, _FIRST, _MIDDLE, _LAST):
            raise ValueError("no frame here")
        body = data[at + _HEADER.size : at + _HEADER.size + size]
        if len(body) < size:
            raise ValueError("frame beyond the end")
        at += _HEADER.size + size
        parts = body if kind in (_FULL, _FIRST) else parts + body
        if kind in (_FULL, _LAST):
            yield parts


def _add(builder: RowBuilder, record: bytes) -> None:
    for number, _, body in fields(memoryview(record)):
        if isinstance(body, int):
            continue
        if number == _HISTORY:
            builder.skipped += not add_record(builder, _items(body))
        elif number == _CONFIG:
            _configure(builder, body)
        elif number == _RUN:
            for inner, _, content in fields(body):
                if inner == _STARTED_WITH and not isinstance(content, int):
                    _configure(builder, content)


def _configure(builder: RowBuilder, config: memoryview) -> None:
    settings = flatten(_items(config))
    builder.config.update({key: value for key, value in settings.items() if isinstance(value, str | int | float | bool)})


def _items(body: memoryview) -> dict[str, object]:
    return dict(_item(content) for inner, _, content in fields(body) if inner == 1 and not isinstance(content, int))


def _item(view: memoryview) -> tuple[str, object]:
    names: list[str] = []
    value: object = None
    for number, _, content in fields(view):
        if isinstance(content, int):
            continue
        text = bytes(content).decode("utf-8", "replace")
        if number in (1, 2):
            names.append(text)
        elif number == 16:
            value = json.loads(text)
    return "/".join(names), value


FORMAT = WandbRun()
