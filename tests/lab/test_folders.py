"""What the lab leaves behind: runs that are whole, answers under the run's own number, and nothing of a run that was ended."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sismo.cli.main import run
from sismo.lab import exam, sealed


def test_a_run_may_be_called_by_its_number_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / exam.EXAM
    folder.mkdir()
    sealed.write(folder, sealed.Paper({}, sealed.envelope({"01": "bad-init", "02": "no-warmup", "03": "broken-mask"})))
    assert run(["lab", "answer", "2", "no-warmup", "--because", "panel 2", "--root", str(tmp_path)]) == 0
    assert sealed.read(folder).answers["02"].name == "no-warmup"
    assert capsys.readouterr().out.startswith("02: ")
    assert run(["lab", "answer", "4", "no-warmup", "--because", "panel 2", "--root", str(tmp_path)]) == 2


def test_a_run_that_is_asked_to_end_leaves_no_half_of_it(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "sismo", "lab", "run", "--fault", "bad-init", "--steps", "100000", "--root", str(tmp_path)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 60
    while not list(tmp_path.glob(".lab-*.part/*")) and time.monotonic() < until:
        time.sleep(0.1)
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=60) == 128 + signal.SIGTERM
    assert not list(tmp_path.iterdir())
