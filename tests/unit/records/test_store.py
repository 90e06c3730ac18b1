"""The run folder: what is written is read back, whatever happens in between."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import get_type_hints

import numpy as np
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sismo import diagnose
from sismo.dashboard.page import render
from sismo.errors import RunFormatError, UsageError
from sismo.records.reader import read_run
from sismo.records.types import Event, Header, Run
from sismo.records.writer import RunWriter
from sismo.report.language import language

HEADER = Header("sismo-run", name="demo", dtype="bf16", total_steps=100, clip=1.0, config={"seed": 3, "layers": ["a", "b"]})


def points(run: Run, channel: str) -> list[tuple[int, float]]:
    series = run.series[channel]
    return list(zip(series.steps.tolist(), series.values.tolist(), strict=True))


def test_header_series_and_events_come_back(tmp_path: Path) -> None:
    with RunWriter(tmp_path / "run", HEADER) as writer:
        writer.row(1, {"loss/train": 2.0, "lr/0": None})
        writer.row(2, {"loss/train": math.nan, "lr/0": 0.1})
        writer.event(Event(2, "checkpoint", {"path": "ckpt"}))
    run = read_run(tmp_path / "run")
    assert run.header == HEADER._replace(status="completed")
    assert run.series["loss/train"].steps.tolist() == [1, 2]
    assert math.isnan(run.series["loss/train"].values[1])
    assert points(run, "lr/0") == [(2, 0.1)]
    assert run.events == (Event(2, "checkpoint", {"path": "ckpt"}),)


VALUES = st.one_of(st.none(), st.floats(width=64), st.integers(-(2**53), 2**53).map(float))
STEPS = st.lists(st.tuples(st.integers(0, 2**62), VALUES, VALUES), max_size=40, unique_by=lambda row: row[0]).map(
    lambda rows: sorted(rows, key=lambda row: row[0])
)


@settings(max_examples=60, deadline=None)
@given(rows=STEPS, per_part=st.integers(1, 12), cut=st.integers(0, 40))
def test_any_rows_in_parts_of_any_size_and_any_interruption(
    rows: list[tuple[int, float | None, float | None]], per_part: int, cut: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run"
        with RunWriter(path, HEADER, rows_per_part=per_part) as writer:
            for step, loss, norm in rows[:cut]:
                writer.row(step, {"loss/train": loss, "grad_norm/pre": norm})
        with RunWriter(path, rows_per_part=per_part + 1) as writer:
            for step, loss, norm in rows[cut:]:
                writer.row(step, {"loss/train": loss, "grad_norm/pre": norm})
        run = read_run(path)
    for channel, column in (("loss/train", 1), ("grad_norm/pre", 2)):
        expected = [(row[0], row[column]) for row in rows if row[column] is not None]
        series = run.get(channel)
        if not expected:
            assert series is None
            continue
        assert series is not None
        assert series.steps.tolist() == [step for step, _ in expected]
        assert np.array_equal(series.values, np.asarray([value for _, value in expected], dtype=np.float64), equal_nan=True)


def test_parts_open_with_pyarrow_alone(tmp_path: Path) -> None:
    with RunWriter(tmp_path / "run", HEADER, rows_per_part=2) as writer:
        writer.row(1, {"loss/train": 2.0})
        writer.row(2, {"loss/train": math.nan, "lr/0": 0.1})
    (part,) = (tmp_path / "run" / "metrics").glob("*.parquet")
    table = pyarrow.parquet.read_table(part)
    assert table.column_names == ["step", "loss/train", "lr/0"]
    assert table.column("step").to_pylist() == [1, 2]
    assert table.column("lr/0").to_pylist() == [None, 0.1]
    assert table.column("loss/train").null_count == 0


def test_rows_of_one_step_are_joined_and_a_step_back_replaces(tmp_path: Path) -> None:
    for per_part in (2, 100):
        path = tmp_path / f"run{per_part}"
        with RunWriter(path, HEADER, rows_per_part=per_part) as writer:
            for step in (1, 2, 3, 4):
                writer.row(step, {"loss/train": float(step)})
            writer.row(4, {"grad_norm/pre": 1.0})
            for step in (3, 5):
                writer.row(step, {"loss/train": 10.0 * step})
        run = read_run(path)
        assert points(run, "loss/train") == [(1, 1.0), (2, 2.0), (3, 30.0), (5, 50.0)]
        assert "grad_norm/pre" not in run.series


def test_a_crash_between_the_part_and_the_cut_of_the_tail_counts_rows_once(tmp_path: Path) -> None:
    path = tmp_path / "run"
    writer = RunWriter(path, HEADER, rows_per_part=1000)
    for step in range(5):
        writer.row(step, {"loss/train": float(step)})
    tail = (path / "metrics" / "tail.jsonl").read_bytes()
    writer.roll()
    (path / "metrics" / "tail.jsonl").write_bytes(tail)
    assert points(read_run(path), "loss/train") == [(step, float(step)) for step in range(5)]
    writer.close()
    (path / "metrics" / "tail.jsonl").write_bytes(tail)
    with RunWriter(path) as again:
        again.row(5, {"loss/train": 5.0})
    assert points(read_run(path), "loss/train") == [(step, float(step)) for step in range(6)]


def test_a_torn_last_line_loses_only_itself(tmp_path: Path) -> None:
    path = tmp_path / "run"
    with RunWriter(path, HEADER) as writer:
        writer.row(1, {"loss/train": 1.0})
    (path / "metrics" / "tail.jsonl").write_bytes(b'{"n":1,"step":2,"v":{"loss/train":2.0}}\n{"n":2,"step":3,"v":{"lo')
    with open(path / "events.jsonl", "ab") as file:
        file.write(b'{"step": 1, "ki')
    run = read_run(path)
    assert points(run, "loss/train") == [(1, 1.0), (2, 2.0)]
    assert not run.notes
    with RunWriter(path) as writer:
        writer.row(3, {"loss/train": 3.0})
        writer.event(Event(3, "resume"))
    run = read_run(path)
    assert points(run, "loss/train") == [(1, 1.0), (2, 2.0), (3, 3.0)]
    assert [event.kind for event in run.events] == ["resume"]


def test_status_tells_a_live_run_from_a_dead_one(tmp_path: Path) -> None:
    path = tmp_path / "run"
    writer = RunWriter(path, HEADER)
    writer.row(1, {"loss/train": 1.0})
    assert read_run(path).header.status == "running"
    writer.close("completed")
    assert read_run(path).header.status == "completed"
    with pytest.raises(ZeroDivisionError), RunWriter(path) as writer:
        raise ZeroDivisionError
    assert read_run(path).header.status == "crashed"


def test_a_folder_in_use_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run"
    with RunWriter(path, HEADER), pytest.raises(UsageError, match="being written"):
        RunWriter(path, HEADER)
    other = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    (path / "writer.lock").write_text(str(other.pid))
    with pytest.raises(UsageError, match=str(other.pid)):
        RunWriter(path)
    other.communicate(b"\n")
    RunWriter(path).close()


def test_what_is_no_channel_or_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no run to continue"):
        RunWriter(tmp_path / "nowhere")
    with RunWriter(tmp_path / "run", HEADER) as writer, pytest.raises(ValueError, match="no channel"):
        writer.row(1, {"my_loss": 1.0})


@pytest.mark.parametrize("manifest", [None, "", "[]", "{}", '{"schema": "1"}', '{"schema": 99}', '{"schema": 0}'])
def test_broken_manifests_are_format_errors(manifest: str | None, tmp_path: Path) -> None:
    if manifest is not None:
        (tmp_path / "manifest.json").write_text(manifest)
    with pytest.raises(RunFormatError):
        read_run(tmp_path)


def test_a_part_that_is_no_parquet_is_a_format_error(tmp_path: Path) -> None:
    with RunWriter(tmp_path, HEADER) as writer:
        writer.row(1, {"loss/train": 1.0})
    (part,) = (tmp_path / "metrics").glob("*.parquet")
    part.write_bytes(b"PAR1 but not really")
    with pytest.raises(RunFormatError):
        read_run(tmp_path)


KILLED = """
import sys
from sismo.records.types import Header
from sismo.records.writer import RunWriter
from sismo.report.language import language
writer = RunWriter(sys.argv[1], Header("sismo-run"), rows_per_part=40)
step = int(sys.argv[2])
while True:
    writer.row(step, {"loss/train": float(step), "lr/0": 0.5})
    print(step, flush=True)
    step += 1
"""


@pytest.mark.slow
def test_a_killed_process_loses_at_most_the_step_in_flight(tmp_path: Path) -> None:
    path = tmp_path / "run"
    script = tmp_path / "train.py"
    script.write_text(KILLED)
    start = 0
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    for round_ in range(24):
        process = subprocess.Popen([sys.executable, str(script), str(path), str(start)], stdout=subprocess.PIPE, env=environment)
        assert process.stdout is not None
        last = start
        for _ in range(1 + 7 * round_):
            last = int(process.stdout.readline())
        process.kill()
        rest = process.stdout.read().split()
        process.stdout.close()
        process.wait()
        last = int(rest[-1]) if rest else last
        run = read_run(path)
        steps = run.series["loss/train"].steps
        # Every step that the process said it had written is there, once; the one in flight may be there as well.
        assert steps[: last + 1].tolist() == list(range(last + 1))
        assert steps.size <= last + 2
        assert run.series["loss/train"].values.tolist() == steps.astype(float).tolist()
        assert run.header.status == "crashed"
        start = int(steps[-1]) + 1


def test_the_manifest_is_plain_json(tmp_path: Path) -> None:
    RunWriter(tmp_path, HEADER).close()
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["schema"] == 1
    assert manifest["header"]["dtype"] == "bf16"


def test_every_field_of_a_header_comes_back(tmp_path: Path) -> None:
    kinds = {name: str(kind) for name, kind in get_type_hints(Header).items()}
    full = {name: {"a": 1} if name == "config" else 3 if "int" in kinds[name] or "float" in kinds[name] else "x" for name in kinds}
    header = Header(**full)  # type: ignore[arg-type]
    RunWriter(tmp_path / "run", header).close()
    assert read_run(tmp_path / "run").header == header._replace(status="completed")


def test_a_header_that_says_nothing_comes_back(tmp_path: Path) -> None:
    RunWriter(tmp_path / "run", Header("sismo-run")).close()
    assert read_run(tmp_path / "run").header == Header("sismo-run", status="completed")


@pytest.mark.parametrize("value", ["{}", ["a"], 3, True, float("nan"), {"a": {"b": 1}}])
def test_a_manifest_of_the_wrong_kinds_is_judged_all_the_same(value: object, tmp_path: Path) -> None:
    with RunWriter(tmp_path / "run", Header("sismo-run")) as writer:
        for step in range(40):
            writer.row(step, {"loss/train": 3.0 - 0.01 * step, "grad_norm/pre": 1.0, "lr/0": 1e-3})
    path = tmp_path / "run" / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    manifest["header"] = dict.fromkeys(Header._fields, value)
    path.write_text(json.dumps(manifest), encoding="utf-8")
    run = read_run(tmp_path / "run")
    assert render(diagnose(run), run, language("en")).startswith("<!doctype html>")
