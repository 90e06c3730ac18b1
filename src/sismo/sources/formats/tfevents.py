"""TensorBoard event files, one or a folder of them, read without TensorBoard: TFRecord frames around protobuf messages.

Only scalars are read: ``simple_value``, and tensors that hold one float or double. Field numbers are those of event.proto,
summary.proto and tensor.proto.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from pathlib import Path

from sismo.errors import MalformedLog
from sismo.records.types import Note, Run
from sismo.sources.base import Content, Format, Sample, Table
from sismo.sources.protobuf import fields, varint
from sismo.sources.rows import RowBuilder

MAX_RECORD = 64 * 1024 * 1024
MAX_EVENTS_FILES = 64
_DT_FLOAT, _DT_DOUBLE = 1, 2
_TIME, _STEP = 0x09, 0x10
"""First bytes of the fields wall_time and step."""
_LENGTH = struct.Struct("<Q").unpack_from
_FLOAT, _DOUBLE = struct.Struct("<f").unpack_from, struct.Struct("<d").unpack_from
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
    here: set[str] = set()
    events = _Events()
    at, end = 0, len(data)
    while at + 12 <= end:
        (length,) = _LENGTH(data, at)
        if length > MAX_RECORD or at + 16 + length > end:
            break
        try:
            step, scalars = events.read(data[at + 12 : at + 12 + length])
        except (ValueError, IndexError, struct.error):
            break
        at += 16 + length
        for tag, value in scalars:
            if step != row_step or tag in here:
                row, row_step = builder.add({"step": float(step)}), step
                here.clear()
            here.add(tag)
            builder.put(row, tag, value)
    if at != end:
        builder.notes.append(Note("partial-log", "the last event is cut off; what came before was read"))


class _Events:
    """Reads events; of one whose like it has seen, only the time, the step and the value are looked at.

    Events of one tag differ in nothing else: what is left when those are taken out names the tag.
    """

    def __init__(self) -> None:
        self._tags: dict[bytes, str] = {}
        self._places: dict[int, list[tuple[int, int]]] = {}

    def read(self, record: bytes) -> tuple[int, Sequence[tuple[str, float]]]:
        """Step and scalars of an event."""
        if len(record) > 11 and record[0] == _TIME and record[9] == _STEP:
            step, at = varint(record, 10)
            rest = record[at:]
            for place, size in self._places.get(len(rest), ()):
                tag = self._tags.get(rest[:place] + rest[place + size :])
                if tag is not None:
                    return step, ((tag, (_FLOAT if size == 4 else _DOUBLE)(rest, place)[0]),)
            found = _event(memoryview(record))
            self._learn(rest, found[1])
            return found
        return _event(memoryview(record))

    def _learn(self, rest: bytes, scalars: Sequence[tuple[str, float]]) -> None:
        if len(scalars) != 1:
            return
        tag, value = scalars[0]
        for size, form in ((4, "<f"), (8, "<d")):
            try:
                raw = struct.pack(form, value)
            except OverflowError:
                continue
            if rest.count(raw) == 1 and struct.unpack(form, raw)[0] == value:
                place = (rest.index(raw), size)
                places = self._places.setdefault(len(rest), [])
                if place not in places:
                    places.append(place)
                self._tags[rest[: place[0]] + rest[place[0] + size :]] = tag
                return


def _event(view: memoryview) -> tuple[int, list[tuple[str, float]]]:
    step = 0
    scalars: list[tuple[str, float]] = []
    for number, _, content in fields(view):
        if number == 2 and isinstance(content, int):
            step = content - (1 << 64) if content >> 63 else content
        elif number == 5 and isinstance(content, memoryview):
            for inner, _, summary in fields(content):
                if inner == 1 and isinstance(summary, memoryview) and (scalar := _value(summary)) is not None:
                    scalars.append(scalar)
    return step, scalars


def _value(view: memoryview) -> tuple[str, float] | None:
    tag, value = "", None
    for number, wire, content in fields(view):
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
    for number, wire, content in fields(view):
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
