"""How time and memory grow with the length of a run and with the number of its series: reading and judging it, and drawing its page."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sismo.bench import tables
from sismo.bench.speed import machine, once
from sismo.records.schema import METRICS, part_name
from sismo.records.types import Header
from sismo.records.writer import RunWriter

STEPS = (10_000, 100_000, 1_000_000, 10_000_000)
"""Rows of a run with a loss, a learning rate and a gradient norm."""
SERIES = (10, 100, 1_000, 10_000)
"""Series of a run of ``ROWS`` rows."""
ROWS = 1_000
_PART = 1_000_000
_SISMO = [sys.executable, "-m", "sismo"]


def write_run(folder: Path, steps: int, series: int = 3, seed: int = 0) -> None:
    """A healthy recorded run: loss, learning rate and gradient norm, and as many activation series as are missing to ``series``."""
    RunWriter(folder, Header("sismo-run", total_steps=steps)).close()
    rng = np.random.default_rng(seed)
    for first in range(0, steps, _PART):
        at = np.arange(first, min(first + _PART, steps))
        columns = {
            "step": at,
            "loss/train": 2.5 + 8.3 * (1 + at / (steps / 50)) ** -0.5 + 0.05 * rng.standard_normal(at.size),
            "lr/0": 3e-4 * (0.1 + 0.45 * (1 + np.cos(np.pi * at / steps))) * np.minimum(1.0, (at + 1) / (steps / 20)),
            "grad_norm/pre": 0.6 * (1 + 8 / (1 + at / 50)) * np.exp(0.15 * rng.standard_normal(at.size)),
            **{f"act_mean_abs/blocks.{layer}": 1 + 0.1 * rng.standard_normal(at.size) for layer in range(series - 3)},
        }
        pq.write_table(pa.table(columns), folder / METRICS / part_name(int(at[0]), int(at[-1])))


def run(steps: Sequence[int] = STEPS, series: Sequence[int] = SERIES, *, write: bool = False) -> None:
    """Measures whole processes, and prints the table."""
    header = ("run", "diagnose s", "peak MB", "dashboard s", "peak MB", "page MB")
    rows: list[tuple[str, ...]] = []
    for row in _measured(steps, series):
        print("  ".join(row), flush=True)
        rows.append(row)
    how = f"{machine()}; the faster of two runs of each."
    print(f"\n{how}\n\n{tables.plain(header, rows)}")
    if write:
        tables.write_section("growth", "Growth with steps and series", f"{how}\n\n{tables.markdown(header, rows)}")


def _measured(steps: Sequence[int], series: Sequence[int]) -> Iterator[tuple[str, ...]]:
    long = [(f"{count:,} steps, 3 series", count, 3) for count in steps]
    wide = [(f"{ROWS:,} steps, {count:,} series", ROWS, count) for count in series]
    for name, length, count in [*long, *wide]:
        with tempfile.TemporaryDirectory() as scratch:
            folder, page = Path(scratch) / "run", Path(scratch) / "page.html"
            write_run(folder, length, count)
            judged = min(once([*_SISMO, "diagnose", str(folder)]) for _ in range(2))
            drawn = min(once([*_SISMO, "dashboard", str(folder), "-o", str(page)]) for _ in range(2))
            size = page.stat().st_size / 1e6
        yield (name, f"{judged[0]:.2f}", f"{judged[1]:.0f}", f"{drawn[0]:.2f}", f"{drawn[1]:.0f}", f"{size:.2f}")
