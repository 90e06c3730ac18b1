"""Input that is no training log: one line, exit 2, no traceback, and never a clean bill."""

from __future__ import annotations

import errno
import gzip
import os
from pathlib import Path

import pytest

from sismo.cli.main import run

BAD = {
    "empty": b"",
    "blank": b"\n\n  \n",
    "binary": bytes(range(256)) * 64,
    "prose": b"the quick brown fox\njumps over the lazy dog\n" * 50,
    "no-loss": b"".join(b'{"step": %d, "speed": 3.1}\n' % n for n in range(100)),
    "broken-json": b'{"log_history": [',
    "header-only": b"step,loss\n",
    "all-text-loss": b"step,loss\n" + b"1,high\n2,low\n" * 20,
    "half-a-gzip": gzip.compress(b'{"step": 1, "loss": 2.0}\n' * 400)[:20],
    "null-bytes": b"\0" * 4096,
    "one-long-line": b"x" * 3_000_000,
}


@pytest.mark.parametrize("name", BAD)
def test_it_is_refused_in_one_line(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / (f"{name}.jsonl.gz" if "gzip" in name else f"{name}.log")
    log.write_bytes(BAD[name])
    assert run(["diagnose", str(log)]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert len(printed.err.splitlines()) == 1
    assert str(log) in printed.err
    assert "Traceback" not in printed.err


def test_a_folder_of_junk_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("binary", "prose", "empty"):
        (tmp_path / f"{name}.log").write_bytes(BAD[name])
    assert run(["diagnose", str(tmp_path)]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert len(printed.err.splitlines()) == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
def test_a_file_that_may_not_be_read_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "secret.jsonl"
    log.write_text('{"step": 1, "loss": 2.0}\n')
    log.chmod(0)
    assert run(["diagnose", str(log)]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_a_run_that_is_too_short_is_not_called_healthy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "short.jsonl"
    log.write_text('{"step": 1, "loss": 2.0}\n{"step": 2, "loss": 1.9}\n')
    assert run(["diagnose", str(log)]) == 0
    assert "healthy" not in capsys.readouterr().out.lower()


def test_a_folder_that_may_not_be_entered_does_not_hide_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "good.jsonl").write_text("".join(f'{{"step": {step}, "loss": {3 - step / 100}}}\n' for step in range(100)))
    closed = tmp_path / "closed"
    closed.mkdir()
    scan, listing = os.scandir, Path.iterdir

    def scandir(path: str | Path) -> object:
        if Path(path) == closed:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return scan(path)

    def iterdir(path: Path) -> object:
        if path == closed:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return listing(path)

    monkeypatch.setattr(os, "scandir", scandir)
    monkeypatch.setattr(Path, "iterdir", iterdir)
    assert run(["diagnose", str(tmp_path)]) == 2
    said = capsys.readouterr()
    assert "good.jsonl" in said.out
    assert "100 rows" in said.out
    assert "closed" in said.err
    assert "permission denied" in said.err.lower()
