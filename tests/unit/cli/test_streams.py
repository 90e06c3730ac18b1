"""What the process is connected to may be full, closed or endless; and names may hold anything."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sismo.cli.main import run

ROWS = "".join(f'{{"step": {n}, "loss": {3 - n / 100}, "lr": 0.001}}\n' for n in range(60))


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "ok.jsonl"
    path.write_text(ROWS)
    return path


def shell(command: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    line = f'"$0" -m sismo {command}'
    return subprocess.run(["bash", "-c", line, sys.executable, *arguments], capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="Linux only")
@pytest.mark.parametrize("command", ['diagnose "$1"', 'series "$1"', "tree", "explain missing-warmup", "--help"])
@pytest.mark.parametrize("where", [">/dev/full", ">&-"])
def test_output_that_cannot_be_written_is_one_line_and_2(command: str, where: str, log: Path) -> None:
    done = shell(f"{command} {where}", str(log))
    if command != "--help" or where != ">&-":
        assert done.returncode == 2
        assert len(done.stderr.splitlines()) == 1
    assert "Traceback" not in done.stderr


def test_a_closed_standard_error_and_a_closed_standard_input_do_no_harm() -> None:
    assert shell("diagnose /nowhere.log 2>&-").returncode == 2
    done = shell("diagnose - <&-")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="Linux only")
@pytest.mark.parametrize("command", ["diagnose /dev/zero", "diagnose - </dev/zero"])
def test_endless_input_is_refused(command: str) -> None:
    done = shell(command)
    assert done.returncode == 2
    assert "without end" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("command", ["diagnose", "series"])
def test_control_characters_are_written_out(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # a long path would be cut to the width of the report
    path = Path("a\x1b[31m\nb.jsonl")
    path.write_text("".join(f'{{"step": {n}, "loss": {3 - n / 100}, "lo\\u001b[2Jss\\u0007": 1.5}}\n' for n in range(60)))
    run([command, str(path)])
    printed = capsys.readouterr().out
    assert "\x1b" not in printed
    assert "\x07" not in printed
    assert "a\\x1b[" in printed


@pytest.mark.parametrize("command", ["diagnose", "series"])
def test_a_file_of_a_folder_that_cannot_be_read_is_said(command: str, log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (log.parent / "torn.jsonl.gz").write_bytes(gzip.compress(ROWS.encode())[:12])
    assert run([command, str(log.parent)]) == 2
    printed = capsys.readouterr()
    assert "loss" in printed.out
    assert printed.err.splitlines() == [f"sismo: {log.parent / 'torn.jsonl.gz'}: damaged compressed file: nothing in it could be read"]
