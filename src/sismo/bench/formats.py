"""Speed over the formats: a long log of every trainer that there is a writer for, diagnosed by a process of its own."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

from sismo.bench import tables
from sismo.bench.speed import Taken, machine, once
from sismo.bench.trainers import ALL, Trainer
from sismo.errors import MissingExtra

MAX_SECONDS, MAX_MB = 5.0, 400.0
"""For a million lines, or a million scalars of TensorBoard."""
EVENTS = "tensorboard"
_TAGS = 4
_PROBE = 50
"""Rows that tell how many lines a trainer writes for a row."""


class Reading(NamedTuple):
    """One log: what it is called, its lines, and what the process that read and judged it took."""

    name: str
    lines: int
    taken: Taken

    def met(self, asked: int) -> bool:
        """Whether it is within the targets, in proportion to the lines that were asked for; of a busy machine only the CPU time counts."""
        return self.taken.cpu <= MAX_SECONDS * max(1.0, asked / 1e6) and self.taken.megabytes <= MAX_MB


def run(lines: int = 1_000_000, only: Collection[str] = (), *, write: bool = False) -> bool:
    """Measures and prints a line a format, slowest last. Returns whether the targets are met."""
    readings: list[Reading] = []
    for reading in measured(lines, only):
        print(f"{reading.name:24} {reading.lines:>10,} lines  {reading.taken.cpu:6.2f} s  {reading.taken.megabytes:4.0f} MB", flush=True)
        readings.append(reading)
    readings.sort(key=lambda one: one.taken.cpu)
    header = ("format", "lines", "CPU s", "wall s", "peak MB")
    rows = [
        (one.name, f"{one.lines:,}", f"{one.taken.cpu:.2f}", f"{one.taken.seconds:.2f}", f"{one.taken.megabytes:.0f}") for one in readings
    ]
    met = sum(one.met(lines) for one in readings)
    how = (
        f"{machine()}; `sismo diagnose` as a process of its own, once each. {met} of {len(readings)} are within "
        f"{MAX_SECONDS:.0f} s of CPU and {MAX_MB:.0f} MB for a million lines; TensorBoard is counted in scalars."
    )
    print(f"\n{how}\n\n{tables.plain(header, rows)}")
    if write:
        tables.write_section("formats", "Speed over the formats", f"{how}\n\n{tables.markdown(header, rows)}")
    return met == len(readings)


def measured(lines: int, only: Collection[str] = ()) -> Iterator[Reading]:
    """Each format in turn."""
    for name in only or [*ALL, EVENTS]:
        with tempfile.TemporaryDirectory() as folder:
            if name == EVENTS:
                path, count = Path(folder) / "events.out.tfevents.1", lines
                _write_events(path, lines)
            else:
                path = Path(folder) / ALL[name].file
                count = _write_log(path, ALL[name], lines)
            yield Reading(name, count, once([sys.executable, "-m", "sismo", "diagnose", str(path)]))


def _write_log(path: Path, trainer: Trainer, lines: int) -> int:
    """A log of about so many lines, which are counted; of a document on one line it is rows. A bar that is drawn again is a line."""
    per_row = max(1.0, _count(trainer.text(trainer.rows(_PROBE))) / _PROBE)
    rows = trainer.rows(int(lines / per_row))
    text = trainer.text(rows)
    path.write_text(text, encoding="utf-8")
    return max(_count(text), len(rows))


def _count(text: str) -> int:
    return sum(map(bool, text.replace("\r", "\n").split("\n")))


def _write_events(path: Path, scalars: int) -> None:
    try:
        from tensorboard.compat.proto.event_pb2 import Event  # pyright: ignore[reportAttributeAccessIssue] - made by protobuf
        from tensorboard.compat.proto.summary_pb2 import Summary  # pyright: ignore[reportAttributeAccessIssue]
        from tensorboard.summary.writer.record_writer import RecordWriter
    except ImportError:
        raise MissingExtra("writing TensorBoard's events", "tensorboard") from None
    with path.open("wb") as file:
        writer = RecordWriter(file)
        writer.write(Event(wall_time=1.0, file_version="brain.Event:2").SerializeToString())
        for step in range(scalars // _TAGS):
            for tag in range(_TAGS):
                value = Summary.Value(tag=f"train/loss_{tag}" if tag else "train/loss", simple_value=2.0 + 1.0 / (1 + step))
                writer.write(Event(wall_time=1.0 + step, step=step, summary=Summary(value=[value])).SerializeToString())
        file.flush()
