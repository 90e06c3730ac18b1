"""Runs in an S3 bucket: the same table as from the disk, from a real server (moto's, on this machine)."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from sismo.cli.main import run as sismo
from sismo.records.types import Header
from sismo.records.writer import RunWriter

pytest.importorskip("s3fs")
pytest.importorskip("moto")

_BUCKET = "bucket"


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    """The address of a fresh S3 server."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(600):
            try:
                put(f"{address}/{_BUCKET}", b"")
                break
            except OSError:
                time.sleep(0.1)
        yield address
    finally:
        server.terminate()
        server.wait()


def put(url: str, data: bytes) -> None:
    headers = {"Content-Type": "application/octet-stream"}  # else the server takes it for a form
    urllib.request.urlopen(urllib.request.Request(url, data=data, headers=headers, method="PUT"), timeout=10).close()


def scan(address: str, url: str, out: Path) -> subprocess.CompletedProcess[str]:
    """``sismo scan`` of a URL, in a process that knows the server."""
    known = {"AWS_ENDPOINT_URL": address, "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": "us-east-1"}
    command = [sys.executable, "-m", "sismo", "scan", url, "-o", str(out), "--jobs", "1"]
    return subprocess.run(command, env={**os.environ, **known}, capture_output=True, text=True, check=False)


def table(out: Path, root: str) -> list[dict[str, object]]:
    rows = pq.read_table(out / "runs.parquet").to_pylist()
    return [{**row, "path": str(row["path"]).removeprefix(root), "time": None} for row in rows]


@pytest.mark.slow
def test_a_bucket_reads_like_a_disk(endpoint: str, tmp_path: Path) -> None:
    root = tmp_path / "runs"
    for name, lost in (("a", 250), ("b", 150)):
        folder = root / name
        folder.mkdir(parents=True)
        losses = [float("nan") if step >= lost else 2 + 4 / (1 + step / 20) for step in range(200)]
        (folder / "metrics.jsonl").write_text("".join(json.dumps({"step": s, "loss": loss}) + "\n" for s, loss in enumerate(losses)))
        (folder / "config.json").write_text(json.dumps({"lr": 0.1}))
    with RunWriter(root / "recorded", Header("sismo-run", config={"lr": 0.2})) as writer:
        for step in range(200):
            writer.row(step, {"loss/train": 2 + 4 / (1 + step / 20)})
    for file in root.rglob("*"):
        if file.is_file():
            put(f"{endpoint}/{_BUCKET}/runs/{file.relative_to(root).as_posix()}", file.read_bytes())
    far, near = tmp_path / "far", tmp_path / "near"
    done = scan(endpoint, f"s3://{_BUCKET}/runs", far)
    assert (done.returncode, done.stderr) == (1, "")
    assert sismo(["scan", str(root), "-o", str(near), "--jobs", "1"]) == 1
    assert table(far, f"s3://{_BUCKET}/runs") == table(near, str(root))
    again = scan(endpoint, f"s3://{_BUCKET}/runs", far)
    assert again.stdout == done.stdout
    one = scan(endpoint, f"s3://{_BUCKET}/runs/b/metrics.jsonl", tmp_path / "one")
    assert one.returncode == 1
    for wrong in ("s3://nobucket/runs", f"s3://{_BUCKET}/nothing"):
        refused = scan(endpoint, wrong, tmp_path / "none")
        assert refused.returncode == 2
        assert len(refused.stderr.splitlines()) == 1
