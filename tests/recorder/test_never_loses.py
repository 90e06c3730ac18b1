"""Kills, a full disk, a long run, and reading with other tools alone: each through the commands and files that users have."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest
from recorder.loops import build, digest, train

from sismo.bench import memory
from sismo.recorder import Recorder
from sismo.records.reader import read_run


@pytest.mark.slow
def test_a_kill_at_any_moment_loses_at_most_the_step_in_flight() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "sismo.bench.kills", "--times", "60", "--seed", "7"],
        capture_output=True, text=True, timeout=300, check=False, env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_memory_stays_flat() -> None:
    assert memory.growth(memory.peaks(20_000, every=20)) <= memory.MAX_GROWTH


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """Every write past so many bytes of a file fails, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_ends_recording_and_not_training(tmp_path: Path) -> None:
    model, optimizer = build()
    expected = digest(model, optimizer, train(model, optimizer, 12))
    model, optimizer = build()
    # Room for some rows with everything measured.
    with Recorder(model, optimizer, tmp_path, budget=None) as recorder, files_of_at_most(20_000):
        losses = train(model, optimizer, 12, recorder.step)
        assert not recorder.recording
    assert digest(model, optimizer, losses) == expected
    steps = read_run(tmp_path).series["loss/train"].steps.tolist()
    assert 0 < len(steps) < 12
    assert steps == list(range(len(steps)))


def test_other_tools_read_a_run_alone(tmp_path: Path) -> None:
    model, optimizer = build()
    with Recorder(model, optimizer, tmp_path, budget=None) as recorder:
        train(model, optimizer, 5, recorder.step)
    parts = sorted((tmp_path / "metrics").glob("*.parquet"))
    expected = read_run(tmp_path).series["loss/train"].values
    frame = pd.concat([pd.read_parquet(part) for part in parts])
    np.testing.assert_array_equal(frame["loss/train"].to_numpy(), expected)
    assert frame["step"].tolist() == [0, 1, 2, 3, 4]
    query = f"select step, \"loss/train\" from '{tmp_path}/metrics/*.parquet' order by step"
    assert duckdb.sql(query).fetchall() == list(enumerate(expected.tolist()))
    with Recorder(model, optimizer, tmp_path) as recorder:
        train(model, optimizer, 1, lambda loss: recorder.step(loss, val=1.0))
    parts = sorted((tmp_path / "metrics").glob("*.parquet"))
    frame = pd.concat([pd.read_parquet(part) for part in parts])
    united = duckdb.sql(f"select * from read_parquet('{tmp_path}/metrics/*.parquet', union_by_name=true) order by step").df()
    assert frame["loss/val"].count() == united["loss/val"].count() == 1
    with Recorder(model, optimizer, tmp_path) as recorder:
        train(model, optimizer, 2, recorder.step)
        running = pd.read_json(tmp_path / "metrics" / "tail.jsonl", lines=True)
        assert running["step"].tolist() == [6, 7]
        tail = duckdb.sql(f"select step, v['loss/train'] from read_json('{tmp_path}/metrics/tail.jsonl')").fetchall()
        assert [step for step, _ in tail] == [6, 7]
