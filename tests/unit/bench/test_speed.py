"""The stopwatch measures whole processes and refuses one that did not do its work."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from sismo.bench.speed import measure, once, write_log


def test_the_log_has_the_rows_that_were_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    write_log(path, 50)
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert [row["step"] for row in rows] == list(range(50))
    assert set(rows[0]) == {"step", "loss", "lr", "grad_norm"}


def test_memory_is_that_of_the_child() -> None:
    timings = measure({"small": [sys.executable, "-c", "pass"], "big": [sys.executable, "-c", "x = b'1' * 80_000_000"]}, 2)
    assert timings["big"].peak - timings["small"].peak > 60
    assert len(timings["small"].seconds) == 2


def test_a_failed_process_is_no_measurement() -> None:
    with pytest.raises(RuntimeError, match="ended with 3"):
        once([sys.executable, "-c", "raise SystemExit(3)"])
