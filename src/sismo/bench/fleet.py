"""How long a scan of many runs takes, on the cores of this machine and on a Ray cluster of as many workers."""

from __future__ import annotations

import importlib.util
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import pyarrow.parquet as pq

from sismo.bench import tables
from sismo.bench.growth import write_run
from sismo.bench.speed import machine

MAX_SECONDS, MAX_RATIO = 60.0, 1.3
"""What is aimed at: seconds for 10,000 runs on two cores, and Ray's time as a multiple of joblib's."""
_ROWS = 250
_SAME = 100
"""Runs that are written afresh; the others are further folders of the same files, which a scan cannot know."""


class Scanned(NamedTuple):
    """One scan: seconds on the wall, CPU seconds of all its processes, and its table."""

    seconds: float
    cpu: float
    table: list[dict[str, object]]


def write_runs(root: Path, count: int) -> None:
    """So many run folders of 250 rows each."""
    for number in range(min(count, _SAME)):
        write_run(root / f"{number:05d}", _ROWS, seed=number)
    for number in range(_SAME, count):
        source = root / f"{number % _SAME:05d}"
        for file in source.rglob("*"):
            if file.is_file():
                target = root / f"{number:05d}" / file.relative_to(source)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.hardlink_to(file)


def scan(root: Path, out: Path, *more: str) -> Scanned:
    """Scans a folder in processes of its own. Raises RuntimeError when that fails."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [sys.executable, "-m", "sismo", "scan", str(root), "-o", str(out), *more]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    seconds, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 1):
        raise RuntimeError(done.stderr.strip() or "the scan failed")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Scanned(seconds, cpu, pq.read_table(out / "runs.parquet").to_pylist())


def run(runs: int = 10_000, jobs: int = 2, *, write: bool = False) -> bool:
    """Measures and prints the table. Returns whether the targets, for so many runs, are met."""
    where = machine(alone=False)
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch) / "runs"
        write_runs(root, runs)
        here = scan(root, Path(scratch) / "joblib", "--jobs", str(jobs))
        again = scan(root, Path(scratch) / "joblib", "--jobs", str(jobs))
        ray = scan(root, Path(scratch) / "ray", "--jobs", str(jobs), "--ray", "local") if importlib.util.find_spec("ray") else None
    limit = MAX_SECONDS * runs / 10_000
    rows = [
        (f"{runs:,} runs, {jobs} processes", f"{here.seconds:.1f}", f"{here.cpu:.1f}", f"<= {limit:.0f} s"),
        ("the same again, nothing changed", f"{again.seconds:.1f}", f"{again.cpu:.1f}", ""),
    ]
    met = here.seconds <= limit
    if ray is not None:
        ratio = ray.seconds / here.seconds
        took = f"{ray.seconds:.1f} ({ratio:.2f} ×)"
        rows.append((f"{runs:,} runs, {jobs} Ray workers, with their start", took, "", f"<= {MAX_RATIO} × the first"))
        met &= ratio <= MAX_RATIO and ray.table == here.table
    header = ("what", "s", "CPU s", "target")
    print(f"{where}\n\n{tables.plain(header, rows)}")
    if write:
        tables.write_section("scan", "Many runs", f"{where}\n\n{tables.markdown(header, rows)}")
    return met
