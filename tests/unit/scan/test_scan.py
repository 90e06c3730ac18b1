"""``sismo scan`` over folders of runs: what counts as a run, what the table and the page say, and what is not read twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from sismo.cli.main import run as sismo
from sismo.records.types import Header
from sismo.records.writer import RunWriter
from sismo.scan import reading, scanning
from sismo.scan.finding import Unit


def healthy(step: int) -> float:
    """A loss that falls."""
    return 2.0 + 4.0 / (1 + step / 20) + 0.01 * (step * 7919 % 13)


def rows(steps: int = 200, lost: int | None = None, lr: float = 1e-3) -> str:
    """A log as JSON lines; NaN from the step ``lost`` on."""
    values = [float("nan") if lost is not None and step >= lost else healthy(step) for step in range(steps)]
    return "".join(json.dumps({"step": step, "loss": loss, "lr": lr}) + "\n" for step, loss in enumerate(values))


def recorded(path: Path, **config: object) -> None:
    """A run folder as the recorder leaves it."""
    with RunWriter(path, Header("sismo-run", config=config)) as writer:
        for step in range(200):
            writer.row(step, {"loss/train": healthy(step)})


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Twelve healthy runs with a small learning rate, six that end in NaN with a large one, a recorded one, and what lies about."""
    root = tmp_path / "runs"
    for number in range(18):
        folder = root / f"run-{number:02d}"
        folder.mkdir(parents=True)
        high = number >= 12
        (folder / "metrics.jsonl").write_text(rows(lost=150 if high else None))
        (folder / "config.json").write_text(json.dumps({"optimizer": {"lr": 0.1 if high else 0.001}, "seed": number}))
    recorded(root / "recorded", lr=0.001)
    (root / "run-00" / "notes").mkdir()
    (root / "run-00" / "notes" / "todo.txt").write_text("buy milk\n")
    (root / "empty").mkdir()
    (root / "empty" / "train.log").write_text("")
    return root


def scan(*arguments: object) -> int:
    return sismo(["scan", *map(str, arguments)])


def table(folder: Path) -> list[dict[str, object]]:
    return pq.read_table(folder / "runs.parquet").to_pylist()


def test_a_folder_of_runs_becomes_a_table_and_a_page(runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert scan(runs, "-o", out, "--jobs", 1) == 2  # the empty log could not be read
    found = {Path(str(row["path"])).relative_to(runs).parts[0]: row for row in table(out)}
    assert len(found) == 20
    assert [found[f"run-{number:02d}"]["healthy"] for number in (0, 11, 12, 17)] == [True, True, False, False]
    assert found["run-12"]["severity"] == "broken"
    assert found["run-12"]["step"] == 150
    assert found["run-12"]["config.optimizer.lr"] == 0.1
    assert found["recorded"]["config.lr"] == 0.001
    assert "empty" in str(found["empty"]["error"])
    said = capsys.readouterr().out
    assert "6 of 19 runs fail" in said
    assert "optimizer.lr = 0.1" in said
    page = (out / "index.html").read_text(encoding="utf-8")
    assert "optimizer.lr" in page
    assert "100% (6 of 6)" in page
    assert "http" not in page.partition("<main>")[2]


def test_the_page_speaks_spanish(runs: Path, tmp_path: Path) -> None:
    scan(runs, "-o", tmp_path / "out", "--jobs", 1, "--lang", "es")
    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert "Fallan 6 de 19 ejecuciones." in page
    assert 'lang="es"' in page


def test_what_did_not_change_is_not_read_again(runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def counting(bundle: reading.Bundle) -> list[tuple[Unit, list[reading.Row]]]:
        read.extend(Path(unit.place).parent.name for unit in bundle.units)
        return reading.read(bundle)

    monkeypatch.setattr(scanning, "read", counting)
    scan(runs, "-o", tmp_path / "out", "--jobs", 1)
    before = table(tmp_path / "out")
    assert len(read) == 21
    read.clear()
    (runs / "run-03" / "metrics.jsonl").write_text(rows(lost=100))
    scan(runs, "-o", tmp_path / "out", "--jobs", 1)
    assert read == ["run-03"]
    after = table(tmp_path / "out")
    assert [a["path"] for a, b in zip(before, after, strict=True) if a["healthy"] != b["healthy"]] == [
        str(runs / "run-03" / "metrics.jsonl")
    ]


def test_more_processes_give_the_same_table(runs: Path, tmp_path: Path) -> None:
    scan(runs, "-o", tmp_path / "one", "--jobs", 1)
    scan(runs, "-o", tmp_path / "two", "--jobs", 2)
    assert table(tmp_path / "one") == table(tmp_path / "two")


def test_exit_codes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "good.jsonl").write_text(rows())
    (tmp_path / "bad.jsonl").write_text(rows(lost=150))
    out = ("-o", tmp_path / "out", "--jobs", 1)
    assert scan(tmp_path / "good.jsonl", *out) == 0
    assert scan(tmp_path / "good.jsonl", tmp_path / "bad.jsonl", *out) == 1
    assert scan(tmp_path / "bad.jsonl", *out, "--fail-on", "never") == 0
    assert scan(tmp_path / "nowhere", *out) == 2
    assert scan("s9://bucket/runs", *out) == 2
    assert scan(tmp_path / "good.jsonl", "-o", tmp_path / "good.jsonl" / "out") == 2
    (tmp_path / "nothing").mkdir()
    assert scan(tmp_path / "nothing", *out) == 2
    errors = capsys.readouterr().err
    assert "Traceback" not in errors
    assert "nowhere" in errors


def test_a_folder_that_may_not_be_entered_is_told(runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entered = os.scandir

    def closed(path: str) -> object:
        if str(path).endswith("run-05"):
            raise PermissionError(13, "Permission denied")
        return entered(path)

    monkeypatch.setattr("sismo.scan.listing.os.scandir", closed)
    scan(runs, "-o", tmp_path / "out", "--jobs", 1)
    assert [row["error"] for row in table(tmp_path / "out") if str(row["path"]).endswith("run-05")] == ["Permission denied"]


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
def test_ctrl_c_keeps_what_was_read(tmp_path: Path) -> None:
    root = tmp_path / "runs"
    for number in range(800):
        folder = root / f"run-{number:03d}"
        folder.mkdir(parents=True)
        (folder / "metrics.jsonl").write_text(rows())
    command = [sys.executable, "-m", "sismo", "scan", str(root), "-o", str(tmp_path / "out"), "--jobs", "2"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True)
    seen = tmp_path / "out" / "seen.jsonl"
    until = time.monotonic() + 120
    while not (seen.exists() and seen.stat().st_size) and time.monotonic() < until:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    kept = seen.read_bytes().count(b"metrics.jsonl")
    assert 0 < kept < 800
    assert subprocess.run(command, capture_output=True, text=True, check=False).returncode == 0
    assert len(table(tmp_path / "out")) == 800
