"""TensorBoard event files, one or a folder of them, read without TensorBoard: TFRecord frames around protobuf messages.

Only scalars are read: ``simple_value``, and tensors that hold one float or double. Field numbers are those of event.proto,
summary.proto and tensor.proto.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

from sismo.errors import MalformedLog
from sismo.records.types import Note, Run
from sismo.sources.base import Content, Format, Sample, Table
from sismo.sources.rows import RowBuilder

MAX_RECORD = 64 * 1024 * 1024
MAX_EVENTS_FILES = 64
_DT_FLOAT, _DT_DOUBLE = 1, 2
_PREFIX = "events.out.tfevents."


class TfEvents(Format):
    name = "tfevents"
    about = "TensorBoard event files: one file or a folder of them"

    def score(self, sample: Sample) -> int:
        if sample.is_dir:
            return 60 if sample.path is not None and any(_files(sample.path)) else 0
        if len(sample.head) < 16:
            return 0
        (length,) = struct.unpack_from("<Q", sample.head)
        # The first event of every file holds a time and the words "brain.Event:".
        return 99 if length < 1024 and b"brain.Event:" in sample.head[:256] else 0

    def read(self, content: Content) -> list[Table | Run]:
        builder = RowBuilder(self.name)
        path = content.path
        if path is not None and path.is_dir():
            for file in sorted(_files(path), key=lambda one: one.name)[:MAX_EVENTS_FILES]:
                _fill(builder, file.read_bytes())
        else:
            _fill(builder, content.data())
        if not builder.n_rows:
            raise MalformedLog(content.label, "the event file holds no scalars; was anything logged with add_scalar?")
        return [builder.table()]


def _files(folder: Path) -> Iterator[Path]:
    return (child for child in folder.iterdir() if child.name.startswith(_PREFIX) and child.is_file())


def _fill(builder: RowBuilder, data: bytes) -> None:
    """Scalars that share a step are one row; the writer puts them next to each other."""
    row, row_step = -1, None
    broken = False
    view = memoryview(data)
    for record in _records(view):
        try:
            step, scalars = _event(record)
        except (ValueError, IndexError, struct.error):
            broken = True
            break
        for tag, value in scalars:
            if step != row_step or builder.has(row, tag):
                row, row_step = builder.add({"step": float(step)}), step
            builder.put(row, tag, value)
    if broken or _leftover(view):
        builder.notes.append(Note("partial-log", "the last event is cut off; what came before was read"))


def _records(view: memoryview) -> Iterator[memoryview]:
    at, end = 0, len(view)
    while at + 12 <= end:
        (length,) = struct.unpack_from("<Q", view, at)
        if length > MAX_RECORD or at + 16 + length > end:
            return
        yield view[at + 12 : at + 12 + length]
        at += 16 + length


def _leftover(view: memoryview) -> bool:
    at, end = 0, len(view)
    while at + 12 <= end:
        (length,) = struct.unpack_from("<Q", view, at)
        if length > MAX_RECORD or at + 16 + length > end:
            return True
        at += 16 + length
    return at != end


def _fields(view: memoryview) -> Iterator[tuple[int, int, memoryview | int]]:
    """Field number, wire type and content of a message."""
    at, end = 0, len(view)
    while at < end:
        key, at = _varint(view, at)
        wire = key & 7
        if wire == 0:
            value, at = _varint(view, at)
            yield key >> 3, wire, value
            continue
        if wire == 2:
            size, at = _varint(view, at)
        elif wire in (1, 5):
            size = 8 if wire == 1 else 4
        else:
            raise ValueError(f"wire type {wire}")
        if at + size > end:
            raise ValueError("field beyond the end of its message")
        yield key >> 3, wire, view[at : at + size]
        at += size


def _varint(view: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = view[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > 63:
            raise ValueError("varint too long")


def _event(view: memoryview) -> tuple[int, list[tuple[str, float]]]:
    step = 0
    scalars: list[tuple[str, float]] = []
    for number, _, content in _fields(view):
        if number == 2 and isinstance(content, int):
            step = content - (1 << 64) if content >> 63 else content
        elif number == 5 and isinstance(content, memoryview):
            for inner, _, summary in _fields(content):
                if inner == 1 and isinstance(summary, memoryview) and (scalar := _value(summary)) is not None:
                    scalars.append(scalar)
    return step, scalars


def _value(view: memoryview) -> tuple[str, float] | None:
    tag, value = "", None
    for number, wire, content in _fields(view):
        if isinstance(content, int):
            continue
        if number == 1:
            tag = bytes(content).decode("utf-8", "replace")
        elif number == 2 and wire == 5:
            (value,) = struct.unpack("<f", content)
        elif number == 8:
            value = _tensor(content)
    return (tag, float(value)) if tag and value is not None else None


def _tensor(view: memoryview) -> float | None:
    """The number in a tensor of one float or double, whether packed as bytes or as a list; None for any other tensor."""
    dtype, raw = 0, b""
    for number, wire, content in _fields(view):
        if number == 1 and isinstance(content, int):
            dtype = content
        elif number in (4, 5, 6) and isinstance(content, memoryview):
            raw = bytes(content)
            if wire not in (1, 2, 5):
                return None
    if dtype == _DT_FLOAT and len(raw) == 4:
        return struct.unpack("<f", raw)[0]
    return struct.unpack("<d", raw)[0] if dtype == _DT_DOUBLE and len(raw) == 8 else None


FORMAT = TfEvents()
