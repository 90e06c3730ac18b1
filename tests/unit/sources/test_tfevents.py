"""TensorBoard event files, written here byte by byte and, in the slow test, by TensorBoard itself."""

from __future__ import annotations

import math
import struct
from pathlib import Path

import pytest

from sismo.errors import SourceError
from sismo.sources import load


def varint(value: int) -> bytes:
    out = bytearray()
    while True:
        byte, value = value & 0x7F, value >> 7
        out.append(byte | (0x80 if value else 0))
        if not value:
            return bytes(out)


def field(number: int, wire: int, content: bytes) -> bytes:
    return varint(number << 3 | wire) + (varint(len(content)) + content if wire == 2 else content)


def record(event: bytes) -> bytes:
    return struct.pack("<Q", len(event)) + b"\0" * 4 + event + b"\0" * 4


def scalar(step: int, tag: str, value: float, *, tensor: bool = False) -> bytes:
    if tensor:
        content = field(8, 2, field(1, 0, varint(1)) + field(5, 2, struct.pack("<f", value)))
    else:
        content = field(2, 5, struct.pack("<f", value))
    summary = field(1, 2, field(1, 2, tag.encode()) + content)
    return record(field(1, 1, struct.pack("<d", 1.0)) + field(2, 0, varint(step)) + field(5, 2, summary))


HEAD = record(field(1, 1, struct.pack("<d", 1.0)) + field(3, 2, b"brain.Event:2"))


def test_simple_values_and_tensors_of_one_step_are_one_row(tmp_path: Path) -> None:
    data = HEAD + b"".join(
        scalar(step, "train/loss", 3.0 - step / 4) + scalar(step, "train/learning_rate", 0.5, tensor=True) for step in range(0, 1000, 10)
    )
    path = tmp_path / "events.out.tfevents.1.host"
    path.write_bytes(data)
    (run,) = load(path)
    assert run.series["loss/train"].steps.tolist() == list(range(0, 1000, 10))
    assert run.series["lr/0"].values.tolist() == [0.5] * 100
    assert run.header.source == "tfevents"


def test_nan_is_kept_and_a_torn_end_is_noted(tmp_path: Path) -> None:
    path = tmp_path / "events.out.tfevents.1.host"
    path.write_bytes(HEAD + scalar(1, "loss", math.nan) + scalar(2, "loss", 2.0) + scalar(3, "loss", 1.0)[:-7])
    (run,) = load(path)
    assert run.series["loss/train"].steps.tolist() == [1, 2]
    assert math.isnan(run.series["loss/train"].values[0])
    assert "partial-log" in [note.code for note in run.notes]


def test_a_folder_of_event_files_is_one_run(tmp_path: Path) -> None:
    (tmp_path / "events.out.tfevents.1.host").write_bytes(HEAD + scalar(1, "loss", 2.0))
    (tmp_path / "events.out.tfevents.2.host").write_bytes(HEAD + scalar(2, "loss", 1.0))
    (run,) = load(tmp_path)
    assert run.series["loss/train"].values.tolist() == [2.0, 1.0]


def test_event_files_without_scalars_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "events.out.tfevents.1.host"
    path.write_bytes(HEAD)
    with pytest.raises(SourceError, match="no scalars"):
        load(path)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_agrees_with_tensorboard(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.summary.writer.event_file_writer import EventFileWriter

    writer = EventFileWriter(str(tmp_path))
    for step in range(50):
        values = [Summary.Value(tag="train/loss", simple_value=3.0 - step / 8), Summary.Value(tag="grad_norm", simple_value=float(step))]
        writer.add_event(Event(step=step, wall_time=1.0, summary=Summary(value=values)))
    writer.close()
    (run,) = load(tmp_path)
    assert run.series["loss/train"].values.tolist() == [3.0 - step / 8 for step in range(50)]
    assert run.series["grad_norm/pre"].values.tolist() == [float(step) for step in range(50)]
