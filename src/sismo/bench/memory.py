"""Memory of a long recording: ``python -m sismo.bench.memory [--steps 100000] [--every 1] [--write]``.

A tiny model is trained for so many steps, with every panel, and the resident set is read all the time. Rows wait in memory until they
are a part, so that it goes up and down with the parts; what counts is whether the peaks within one part stay where they are.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

import torch
from torch import nn

from sismo.bench import tables
from sismo.recorder import Recorder
from sismo.records.writer import ROWS_PER_PART

MAX_GROWTH = 2.0
"""Megabytes that the peak may grow by in 10,000 steps: what an allocator needs to settle; a leak of one float a channel is more."""
_LOOK = 100


def peaks(steps: int, every: int) -> list[float]:
    """The largest resident set, in MB, within each part of ``steps`` recorded steps; the model is trained in every so many of them."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.AdamW(model.parameters())
    inputs = torch.randn(4, 8)
    found: list[float] = []
    with tempfile.TemporaryDirectory() as holder, Recorder(model, optimizer, Path(holder) / "run") as recorder:
        loss = torch.zeros(())
        for step in range(steps):
            if step % every == 0:
                loss = model(inputs + 0.1 * torch.randn(4, 8)).square().mean()
                loss.backward()
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                optimizer.zero_grad()
            recorder.step(loss)
            if step % ROWS_PER_PART == 0:
                found.append(0.0)
            if step % _LOOK == 0:
                found[-1] = max(found[-1], resident())
        assert recorder.recording
    return found


def resident() -> float:
    """Megabytes of this process in memory."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def growth(found: list[float]) -> float:
    """Megabytes in 10,000 steps by which the peaks grow, by least squares; the first part, in which the process settles, is left out."""
    settled = found[1:]
    middle = (len(settled) - 1) / 2
    mean = sum(settled) / len(settled)
    slope = sum((at - middle) * (value - mean) for at, value in enumerate(settled)) / sum((at - middle) ** 2 for at in range(len(settled)))
    return slope * 10_000 / ROWS_PER_PART


def main() -> int:
    """Prints the peaks. Returns 1 when they grow."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--every", type=int, default=1, help="train in every so many steps; all are recorded")
    parser.add_argument("--write", action="store_true", help="write docs/results.md")
    options = parser.parse_args()
    torch.set_num_threads(1)
    found = peaks(options.steps, options.every)
    grows = growth(found)
    header = ("steps", "peak in the second part", "peak in the last part", "growth in 10,000 steps", "target")
    row = (f"{options.steps:,}", f"{found[1]:.1f} MB", f"{found[-1]:.1f} MB", f"{grows:.2f} MB", f"<= {MAX_GROWTH} MB")
    print(tables.plain(header, [row]))
    if options.write:
        title = "Memory of a long recording (`python -m sismo.bench.memory`)"
        tables.write_section("memory", title, tables.markdown(header, [row]))
    return int(grows > MAX_GROWTH)


if __name__ == "__main__":
    raise SystemExit(main())
