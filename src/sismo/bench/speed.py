"""Speed beside losslint in the same run.

Every number is a whole process, started afresh, on one core where ``taskset`` is there; the commands take turns, so that
a slow minute of the machine hits all of them. Times are wall-clock; memory is the peak resident set of the process.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from sismo.bench import peers, stopwatch, tables

MAX_SECONDS_LONG, MAX_MB_LONG = 1.5, 400.0
MAX_SECONDS_SHORT = 0.25
MAX_SECONDS_HELP = 0.15
_SHORT_ROWS = 1_000

_SISMO = [sys.executable, "-m", "sismo"]


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds and peak megabytes of each repeat of one command."""

    seconds: tuple[float, ...]
    megabytes: tuple[float, ...]

    @property
    def median(self) -> float:
        """Median of the seconds."""
        return statistics.median(self.seconds)

    @property
    def peak(self) -> float:
        """Largest of the peaks, in MB."""
        return max(self.megabytes)


def write_log(path: Path, rows: int, seed: int = 0) -> None:
    """A healthy JSON-lines log of so many rows: step, loss, lr and grad_norm."""
    rng = np.random.default_rng(seed)
    t = np.arange(rows)
    loss = 2.5 + 8.3 * (1 + t / (rows / 50)) ** -0.5 + 0.05 * rng.standard_normal(rows)
    lr = 3e-4 * (0.1 + 0.45 * (1 + np.cos(np.pi * t / rows))) * np.minimum(1.0, (t + 1) / (rows / 20))
    norm = 0.6 * (1 + 8 * (1 + t / 50) ** -1.0) * np.exp(0.15 * rng.standard_normal(rows))
    with path.open("w", encoding="utf-8") as file:
        for step, a, b, c in zip(t.tolist(), loss.tolist(), lr.tolist(), norm.tolist(), strict=True):
            file.write(json.dumps({"step": step, "loss": round(a, 6), "lr": float(f"{b:.6g}"), "grad_norm": round(c, 6)}) + "\n")


class Taken(NamedTuple):
    """What one process took: seconds, peak MB, and seconds of CPU."""

    seconds: float
    megabytes: float
    cpu: float


def once(command: Sequence[str]) -> Taken:
    """Runs a command to its end in a child of its own. Raises RuntimeError when it could not do its work."""
    watch = [sys.executable, "-S", "-E", stopwatch.__file__]
    done = subprocess.run([*watch, *_pin(), *command], capture_output=True, text=True, check=True)
    seconds, peak, cpu, code = done.stdout.split()
    if int(code) not in (0, 1):  # 1 is "something found", in both tools
        raise RuntimeError(f"{' '.join(command)} ended with {code}")
    return Taken(float(seconds), float(peak) / (1024.0**2 if platform.system() == "Darwin" else 1024.0), float(cpu))


def measure(commands: Mapping[str, Sequence[str]], repeats: int) -> dict[str, Timing]:
    """Each command so many times, in turns, after one round that is thrown away (caches, byte code)."""
    rounds = [{name: once(command) for name, command in commands.items()} for _ in range(repeats + 1)][1:]
    return {name: Timing(tuple(r[name].seconds for r in rounds), tuple(r[name].megabytes for r in rounds)) for name in commands}


def _pin() -> list[str]:
    core = str(min(os.sched_getaffinity(0))) if hasattr(os, "sched_getaffinity") else "0"
    return ["taskset", "-c", core] if shutil.which("taskset") else []


def machine(*, alone: bool = True) -> str:
    """Versions, machine and load, as they stand over a table; ``alone`` is whether each process was kept to one core (``once``)."""
    pinned = "one core (taskset)" if alone and _pin() else "not pinned to a core"
    load = f"{os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    return f"Python {platform.python_version()}, numpy {np.__version__}, {platform.machine()}, {pinned}, load average at the start {load}"


def run(rows: int = 1_000_000, repeats: int = 5, *, beside: bool = True, write: bool = False) -> bool:
    """Measures and prints the table; ``beside`` is whether losslint runs too. Returns whether the targets are met."""
    where = machine()
    with tempfile.TemporaryDirectory() as name:
        long, short = Path(name) / "long.jsonl", Path(name) / "short.jsonl"
        write_log(long, rows)
        write_log(short, _SHORT_ROWS)
        peer = peers.command("losslint") if beside else None
        big = {"sismo": [*_SISMO, "diagnose", str(long)]} | ({"losslint": [peer, "check", str(long)]} if peer else {})
        small = {
            "sismo --help": [*_SISMO, "--help"],
            "sismo short": [*_SISMO, "diagnose", str(short)],
            **({"losslint short": [peer, "check", str(short)]} if peer else {}),
            "python": [sys.executable, "-c", "pass"],
            "python, numpy": [sys.executable, "-c", "import numpy"],
        }
        size = long.stat().st_size / 1e6
        timings = measure(big, repeats) | measure(small, 3 * repeats)
    lines, met = _rows(timings, rows, size)
    header = ("what", "median s", "fastest s", "peak MB", "target")
    rounds = f"{repeats} rounds in turns for the long log, {3 * repeats} for the rest"
    how = f"{where}; {rounds}; one more round before them is thrown away."
    ratio = _ratio(timings)
    print(how + "\n\n" + tables.plain(header, lines) + ("\n\n" + ratio if ratio else ""))
    if write:
        tables.write_section("speed", "Speed", "\n\n".join(part for part in (how, tables.markdown(header, lines), ratio) if part))
    return met


def _rows(timings: Mapping[str, Timing], count: int, size: float) -> tuple[list[tuple[str, ...]], bool]:
    names = {
        "sismo": f"sismo diagnose, {count:,} rows ({size:.0f} MB)",
        "losslint": f"losslint check, {count:,} rows",
        "sismo short": f"sismo diagnose, {_SHORT_ROWS:,} rows",
        "losslint short": f"losslint check, {_SHORT_ROWS:,} rows",
    }
    targets = {
        "sismo": f"<= {MAX_SECONDS_LONG} s, <= {MAX_MB_LONG:.0f} MB",
        "sismo short": f"<= {MAX_SECONDS_SHORT} s",
        "sismo --help": f"<= {MAX_SECONDS_HELP} s",
    }
    rows = [
        (names.get(name, name), f"{timing.median:.3f}", f"{min(timing.seconds):.3f}", f"{timing.peak:.0f}", targets.get(name, ""))
        for name, timing in timings.items()
    ]
    met = (
        timings["sismo"].median <= MAX_SECONDS_LONG
        and timings["sismo"].peak <= MAX_MB_LONG
        and timings["sismo short"].median <= MAX_SECONDS_SHORT
        and timings["sismo --help"].median <= MAX_SECONDS_HELP
    )
    return rows, met


def _ratio(timings: Mapping[str, Timing]) -> str:
    if "losslint" not in timings:
        return ""
    ours, theirs = timings["sismo"], timings["losslint"]
    pairs = [a / b for a, b in zip(theirs.seconds, ours.seconds, strict=True)]
    memory = theirs.peak / ours.peak
    return f"losslint / sismo on the long log: time {statistics.median(pairs):.1f} (median of the rounds), memory {memory:.1f}."
