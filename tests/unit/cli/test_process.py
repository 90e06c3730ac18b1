"""The program as a shell sees it: exit codes, pipes, interruption, and how much it loads."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[3] / "examples"
SISMO = [sys.executable, "-m", "sismo"]


def sismo(*arguments: str, stdin: bytes = b"", **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*SISMO, *arguments], input=stdin, capture_output=True, timeout=60, check=False, env={**os.environ, **environment}
    )


def loaded(*arguments: str) -> set[str]:
    """The modules in memory when the command has ended."""
    code = f"import sys; from sismo.cli.main import run; run({list(arguments)!r}); print('\\n'.join(sys.modules), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    return set(done.stderr.split())


def test_the_exit_code_reaches_the_shell() -> None:
    assert sismo("diagnose", str(EXAMPLES / "healthy.jsonl")).returncode == 0
    assert sismo("diagnose", str(EXAMPLES / "lightning-nan.csv")).returncode == 1
    assert sismo("diagnose", "no-such-file").returncode == 2
    assert sismo("no-such-command").returncode == 2


def test_a_log_can_be_piped_in() -> None:
    done = sismo("diagnose", "-", stdin=(EXAMPLES / "healthy.jsonl").read_bytes())
    assert done.returncode == 0
    assert b"Healthy" in done.stdout
    assert done.stderr == b""


def test_nothing_on_standard_input_is_refused() -> None:
    done = sismo("diagnose", "-")
    assert done.returncode == 2
    assert done.stdout == b""
    assert len(done.stderr.splitlines()) == 1


def test_a_pipe_gets_no_colour_and_no_progress() -> None:
    done = sismo("diagnose", str(EXAMPLES / "healthy.jsonl"), str(EXAMPLES / "lightning-nan.csv"))
    assert b"\x1b" not in done.stdout + done.stderr
    assert done.stderr == b""


def test_a_stream_that_knows_only_ascii_gets_ascii() -> None:
    done = sismo("diagnose", str(EXAMPLES / "lightning-nan.csv"), "--lang", "es", PYTHONIOENCODING="ascii")
    assert done.returncode == 1
    done.stdout.decode("ascii")


@pytest.mark.parametrize(("name", "code"), [("lightning-nan.csv", 1), ("healthy.jsonl", 0)])
def test_a_reader_that_goes_away_changes_nothing(name: str, code: int) -> None:
    read, write = os.pipe()
    os.close(read)
    try:
        done = subprocess.run(
            [*SISMO, "diagnose", "--verbose", str(EXAMPLES / name)], stdout=write, stderr=subprocess.PIPE, timeout=60, check=False
        )
    finally:
        os.close(write)
    assert done.returncode == code
    assert done.stderr == b""


def test_ctrl_c_ends_it_with_130_and_one_line() -> None:
    process = subprocess.Popen(
        [*SISMO, "diagnose", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # A shell starts what runs in its background with the signal ignored, and so would this be.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    # Long enough to be waiting for its input; numpy alone takes a tenth of a second.
    time.sleep(1.5)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert out == b""
    assert err.strip() == b"sismo: interrupted"


def test_ctrl_c_while_it_still_imports_is_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "click.py").write_text("raise KeyboardInterrupt")
    done = sismo("--help", PYTHONPATH=os.pathsep.join([str(tmp_path), *filter(None, sys.path)]))
    assert done.returncode == 130
    assert done.stderr.strip() == b"sismo: interrupted"


def test_help_loads_nothing_heavy() -> None:
    names = loaded("--help")
    assert not names & {"numpy", "pyarrow", "torch", "rich", "typer", "tensorboard", "tomllib", "zstandard"}


def test_a_small_log_is_diagnosed_without_the_big_libraries() -> None:
    names = loaded("diagnose", str(EXAMPLES / "healthy.jsonl"))
    assert not names & {"pyarrow", "torch", "rich", "typer", "tensorboard", "babel", "scipy", "pandas", "numpy.ma", "csv"}


def test_a_big_log_is_read_without_pandas(tmp_path: Path) -> None:
    """pyarrow imports it by itself in half of what it offers, where it is installed."""
    path = tmp_path / "long.jsonl"
    path.write_text("".join(f'{{"step": {step}, "loss": 2.5, "grad_norm": null}}\n' for step in range(90_000)))
    names = loaded("diagnose", str(path))
    assert "pyarrow" in names
    assert not names & {"pandas", "pyarrow.compute", "numpy.ma"}
