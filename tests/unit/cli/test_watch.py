"""``watch`` on a terminal of its own (a pseudo-terminal) and without one: in its place, in any size, and gone without a trace."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import signal
import socket
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sismo.cli.main import run as sismo

pytestmark = pytest.mark.slow

ENTER, LEAVE = "\x1b[?1049h", "\x1b[?1049l"


def rows(first: int, last: int, loss: float | None = None) -> str:
    """JSON lines of a run that falls, or of one whose loss is always the same."""
    return "".join(
        json.dumps({"step": step, "loss": 6.0 - 0.01 * step if loss is None else loss, "lr": 1e-3}) + "\n" for step in range(first, last)
    )


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "train.jsonl"
    path.write_text(rows(0, 200), encoding="utf-8")
    return path


class Terminal:
    """A process on a pseudo-terminal, and everything that it wrote there."""

    def __init__(self, child: int, master: int) -> None:
        self.child, self._master, self.text = child, master, ""

    def resize(self, lines: int, columns: int) -> None:
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def until(self, pattern: str, start: int = 0, seconds: float = 30) -> str:
        """Reads on until a pattern comes after a position; returns what was read from there."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if re.search(pattern, self.text[start:]):
                return self.text[start:]
            if select.select([self._master], [], [], 0.2)[0]:
                try:
                    data = os.read(self._master, 65536)
                except OSError:  # how a pseudo-terminal says that its process has ended
                    data = b""
                if not data:
                    break
                self.text += data.decode("utf-8", "replace")
        raise AssertionError(f"{pattern!r} did not come; after position {start}: {self.text[start:]!r}")

    def ended(self) -> int:
        """The exit code, once the process has ended by itself."""
        end = time.monotonic() + 20
        while time.monotonic() < end:
            done, status = os.waitpid(self.child, os.WNOHANG)
            if done:
                self.child = 0
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.05)
        raise AssertionError("it does not end")


@contextmanager
def watched(log: Path, *options: str) -> Iterator[Terminal]:
    child, master = pty.fork()
    if not child:
        os.environ.update(TERM="xterm", PYTHONUNBUFFERED="1", LC_ALL="C.UTF-8")
        os.execv(sys.executable, [sys.executable, "-m", "sismo", "watch", str(log), "--every", "0.1", *options])
    terminal = Terminal(child, master)
    terminal.resize(30, 90)
    try:
        yield terminal
    finally:
        if terminal.child:
            os.kill(terminal.child, signal.SIGKILL)
            os.waitpid(terminal.child, 0)
        os.close(master)


def frames(text: str) -> list[list[str]]:
    """The lines of each picture that was drawn, without colours."""
    plain = re.sub(r"\x1b\[[0-9;?]*[a-zGKJm]", "", text.replace("\x1b[H", "\x00"))
    return [[line.rstrip("\r") for line in frame.split("\n")] for frame in plain.split("\x00")[1:]]


def test_the_verdict_changes_in_its_place_and_ctrl_c_leaves_the_terminal_as_it_was(log: Path) -> None:
    with watched(log) as terminal:
        terminal.until("(?s)Healthy.*step 199")
        seen = len(terminal.text)
        with log.open("a", encoding="utf-8") as file:
            file.write(rows(200, 260, float("nan")))
        later = terminal.until("step 259", seen)
        assert re.search("BROKEN|broken|NaN", later)
        assert "\x1b[H" in later
        assert ENTER not in later
        os.kill(terminal.child, signal.SIGINT)
        end = terminal.until(re.escape(LEAVE), len(terminal.text))
        assert "\x1b[?25h" in end
        assert terminal.ended() in {-signal.SIGINT, 130}
        assert "Traceback" not in terminal.text


@pytest.mark.parametrize("size", [(12, 50), (50, 140), (3, 20)])
def test_a_window_of_another_size_is_filled_anew(log: Path, size: tuple[int, int]) -> None:
    lines, columns = size
    with watched(log) as terminal:
        terminal.until("step 199")
        seen = len(terminal.text)
        terminal.resize(lines, columns)
        drawn = frames(terminal.until("step 199", seen))[-1]
        assert len(drawn) <= lines  # one more would scroll what was drawn away
        assert max(len(line) for line in drawn) <= max(columns, 40)


def test_a_process_that_is_told_to_end_gives_the_screen_back(log: Path) -> None:
    with watched(log) as terminal:
        terminal.until("step 199")
        os.kill(terminal.child, signal.SIGTERM)
        terminal.until(re.escape(LEAVE))
        assert terminal.ended() == 128 + signal.SIGTERM


def test_a_log_that_cannot_be_read_for_a_while_keeps_the_last_verdict(log: Path) -> None:
    with watched(log) as terminal:
        terminal.until("step 199")
        seen = len(terminal.text)
        log.unlink()
        assert "Healthy" in terminal.until("no such file", seen)


def test_without_a_terminal_there_is_a_line_for_each_verdict(log: Path) -> None:
    command = [sys.executable, "-m", "sismo", "watch", str(log), "--every", "0.1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as child:
        try:
            assert child.stdout is not None
            first = child.stdout.readline()
            with log.open("a", encoding="utf-8") as file:
                file.write(rows(200, 210))  # healthy still: nothing to say
                file.flush()
                time.sleep(1)
                file.write(rows(210, 260, float("nan")))
            second = child.stdout.readline()
        finally:
            child.send_signal(signal.SIGINT)
            rest = child.stdout.read() if child.stdout else ""
    assert first.startswith("step 199")
    assert second.startswith("step 259")
    assert "\x1b" not in first + second + rest
    assert "Traceback" not in rest


def test_a_port_that_is_taken_is_one_line(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert sismo(["watch", str(log), "--serve", str(port)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert str(port) in said.err
