"""SIGKILL at random moments: ``python -m sismo.bench.kills [--times 1000] [--write]``.

One process imports torch and forks a child for every kill. The child records a tiny model, says through a pipe which step is over, and
is killed after a random time; the next child goes on in the same folder, some lives long. Parts are made every few rows, so that many
kills hit one being written. After each kill the folder has to be readable, by sismo and by pyarrow and json alone, and hold every step
that was over: at most the step in flight is lost.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pyarrow.parquet
import torch
from torch import nn

from sismo.bench import tables
from sismo.recorder import Recorder, journal
from sismo.records.reader import read_run
from sismo.records.schema import METRICS, TAIL
from sismo.records.writer import RunWriter

LIVES = 10
"""Kills in one folder."""
ROWS = 7
"""Rows in a part."""
LONGEST = 0.06
"""Seconds after its first step within which a child is killed."""


def record(folder: Path, tell: Callable[[], object], steps: int) -> None:
    """Records so many steps, if it is not killed before, and tells of each that is over."""
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 1))
    optimizer = torch.optim.AdamW(model.parameters())
    inputs = torch.ones(2, 4)
    with Recorder(model, optimizer, folder) as recorder:
        for _ in range(steps):
            loss = model(inputs).square().mean()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            recorder.step(loss)
            tell()


def killed(folder: Path, seconds: float) -> int:
    """How many steps a child said were over before it was killed, so many seconds after the first."""
    hear, tell = os.pipe()
    child = os.fork()
    if not child:
        os.close(hear)
        try:
            record(folder, lambda: os.write(tell, b"."), sys.maxsize)
        finally:
            os._exit(1)
    os.close(tell)
    said = os.read(hear, 1)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    while more := os.read(hear, 1 << 16):
        said += more
    os.close(hear)
    return len(said)


def fault(folder: Path, over: int) -> str:
    """What is wrong with the folder after ``over`` steps; empty when nothing is."""
    steps = read_run(folder).series["loss/train"].steps.tolist()
    if steps != list(range(len(steps))) or len(steps) not in (over, over + 1):
        return f"{over} steps were over, {len(steps)} can be read, the last is {steps[-1]}"
    # Without sismo: numbered rows of the parts, then whole lines of the tail that no part has.
    alone: set[int] = set()
    for part in sorted((folder / METRICS).glob("*.parquet")):
        alone.update(pyarrow.parquet.read_table(part)["step"].to_pylist())
    lines = (folder / METRICS / TAIL).read_bytes().split(b"\n")[:-1]
    alone.update(json.loads(line)["step"] for line in lines)
    return "" if sorted(alone) == steps else f"pyarrow and json find {len(alone)} of {len(steps)} steps"


def main() -> int:
    """Prints how many kills lost what. Returns 1 when one lost more than it may."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--times", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", action="store_true", help="write docs/results.md")
    options = parser.parse_args()
    torch.set_num_threads(1)
    journal.RunWriter = partial(RunWriter, rows_per_part=ROWS)  # pyright: ignore[reportAttributeAccessIssue]
    moments = random.Random(options.seed)
    faults: list[str] = []
    in_flight = total = 0
    with tempfile.TemporaryDirectory() as holder:
        # What is imported on first use is imported before the first fork.
        record(Path(holder) / "warm", lambda: None, 2 * ROWS)
        for number in range(options.times):
            folder = Path(holder) / str(number // LIVES)
            total = total if number % LIVES else 0
            total += killed(folder, moments.uniform(0, LONGEST))
            if wrong := fault(folder, total):
                faults.append(f"kill {number}: {wrong}")
                print(faults[-1], file=sys.stderr)
            # The step in flight was written before it could be told: the next child goes on after it.
            written = len(read_run(folder).series["loss/train"])
            in_flight += written != total
            total = written
    header = ("kills", "folders that can be read and hold every step that was over", "with the step in flight as well")
    row = (str(options.times), f"{options.times - len(faults)} of {options.times}", str(in_flight))
    print(tables.plain(header, [row]))
    if options.write:
        title = "SIGKILL at random moments (`python -m sismo.bench.kills`)"
        tables.write_section("kills", title, tables.markdown(header, [row]))
    return int(bool(faults))


if __name__ == "__main__":
    raise SystemExit(main())
