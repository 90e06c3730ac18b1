"""``dashboard``, ``compare`` and ``watch`` as a user types them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from browser import made

from sismo.cli.main import run as sismo
from sismo.dashboard.server import PageServer
from sismo.errors import UsageError
from sismo.records.types import Run

LOG = "".join(json.dumps({"step": step, "loss": 6.0 - 0.01 * step, "lr": 1e-3}) + "\n" for step in range(200))


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "train.jsonl"
    path.write_text(LOG, encoding="utf-8")
    return path


def written(run: Run, path: Path) -> Path:
    """A run as JSON lines: what a log of it would have been."""
    rows: dict[int, dict[str, float]] = {}
    for channel, key in (("loss/train", "loss"), ("lr/0", "lr"), ("grad_norm/pre", "grad_norm")):
        series = run.series[channel]
        for step, value in zip(series.steps.tolist(), series.values.tolist(), strict=True):
            rows.setdefault(step, {"step": step})[key] = value
    path.write_text("".join(json.dumps(row) + "\n" for row in rows.values()), encoding="utf-8")
    return path


def test_dashboard_writes_one_file(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.html"
    assert sismo(["dashboard", str(log), "-o", str(page), "--lang", "es"]) == 0
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert str(page) in capsys.readouterr().out
    assert [file.name for file in tmp_path.iterdir() if file.name.startswith(".")] == []


def test_dashboard_says_what_it_cannot_do(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert sismo(["dashboard", str(log), "-o", str(tmp_path / "no" / "page.html")]) == 2
    assert sismo(["dashboard", str(tmp_path / "nothing.csv")]) == 2
    assert "nothing.csv" in capsys.readouterr().err


def test_compare_prints_a_summary_and_writes_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = written(made.healthy(), tmp_path / "a.jsonl"), written(made.no_warmup(), tmp_path / "b.jsonl")
    assert sismo(["compare", str(a), str(b), "-o", str(tmp_path / "both.html")]) == 1
    said = capsys.readouterr().out
    assert "parts first, at step" in said
    assert 'class="compared"' in (tmp_path / "both.html").read_text(encoding="utf-8")
    assert sismo(["compare", str(a), str(a)]) == 0
    assert "the same number for number" in capsys.readouterr().out


def test_watch_follows_a_log_until_it_is_stopped(log: Path) -> None:
    command = [sys.executable, "-m", "sismo", "watch", str(log), "--every", "0.1"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment) as child:
        try:
            assert child.stdout is not None
            assert "Healthy" in child.stdout.readline()
            with log.open("a", encoding="utf-8") as file:
                file.writelines(json.dumps({"step": step, "loss": float("nan"), "lr": 1e-3}) + "\n" for step in range(200, 260))
            assert child.stdout.readline().startswith("step 259")
        finally:
            child.kill()


def test_the_server_answers_its_own_address_only() -> None:
    server = PageServer(0)

    def status(path: str = "", **headers: str) -> int:
        try:
            with urllib.request.urlopen(urllib.request.Request(server.address + path, headers=headers)) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code

    try:
        assert server.address.startswith("http://127.0.0.1:")
        assert status() == 503
        server.show("<p>one</p>")
        with urllib.request.urlopen(server.address) as answer:
            tag = answer.headers["ETag"]
            assert answer.read() == b"<p>one</p>"
        assert status(**{"If-None-Match": tag}) == 304
        server.show("<p>two</p>")
        assert status(**{"If-None-Match": tag}) == 200
        assert status("etc/passwd") == 404
        assert status(Host="evil.example:80") == 403
        with pytest.raises(UsageError):
            PageServer(int(server.address.rstrip("/").rpartition(":")[2]))
    finally:
        server.close()
    assert not any(thread.name == "sismo-page" for thread in threading.enumerate())


def test_watch_ends_when_a_recorded_run_ends(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from sismo.records.writer import RunWriter

    folder = tmp_path / "run"
    writer = RunWriter(folder, made.healthy().header)
    for step in range(60):
        writer.row(step, {"loss/train": 3.0 - 0.01 * step, "lr/0": 1e-3})
    writer.close()
    start = time.monotonic()
    assert sismo(["watch", str(folder), "--every", "0.1"]) in {0, 1}
    assert time.monotonic() - start < 30
    assert capsys.readouterr().out.strip()
