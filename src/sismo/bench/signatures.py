"""What is said about the three failures, measured: ``python -m sismo.bench.signatures [--seeds 5] [--runs FOLDER] [--write]``.

Trains every configuration that a claim names, at every seed, beside the healthy run at the same options. Runs that lie finished in the
folder are not trained again. Not holding is a result, not a failure: the exit code is 0.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from sismo.bench import tables
from sismo.lab.claims import CLAIMS, Claim, Trial
from sismo.lab.train import train
from sismo.lab.types import Setup
from sismo.records.reader import read_run
from sismo.records.schema import MANIFEST
from sismo.records.types import Run

PAGE = tables.RESULTS.with_name("lab.md")


def runs(trial: Trial, seed: int, folder: Path) -> tuple[Run, Run]:
    """The broken run of a trial and the healthy one at the same options."""
    options = replace(trial.options, seed=seed)
    healthy = replace(options, scale=type(options)().scale)  # the factor changes the broken run only
    setup = options.setup()
    name = "-".join(str(getattr(healthy, one)) for one in ("steps", "lr", "layout", "norm", "init", "naive_loss", "seed"))
    broken = options.failure(trial.failure).corrupt(setup)
    return _run(broken, folder / f"{trial.failure}-{options.scale:g}-{name}"), _run(setup, folder / f"healthy-{name}")


def measure(claim: Claim, seeds: Sequence[int], folder: Path) -> list[float]:
    """The number of a claim at each seed."""
    return [claim.measure(*runs(claim.trial, seed, folder)) for seed in seeds]


def row(claim: Claim, values: Sequence[float]) -> tuple[str, ...]:
    """The line of a claim: whether it holds, on how many seeds, and the numbers."""
    held = sum(map(claim.holds, values))
    verdict = "yes" if held == len(values) else "no" if not held else "at times"
    low, high = min(values), max(values)
    said = _number(low) if low == high else f"{_number(low)} to {_number(high)}, median {_number(statistics.median(values))}"
    return (claim.says, claim.trial.about, verdict, f"{held} of {len(values)}", f"{said} {claim.unit}".strip())


def _run(setup: Setup, folder: Path) -> Run:
    if (folder / MANIFEST).is_file() and (run := read_run(folder)).header.status == "completed":
        return run
    return train(setup, folder)


def _number(value: float) -> str:
    return "never" if value == float("inf") else f"{value:.3g}"


def main() -> int:
    """Prints the table; with ``--write`` puts it into docs/lab.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--runs", type=Path)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    rows: list[tuple[str, ...]] = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.runs or Path(temporary)
        for claim in CLAIMS:
            rows.append(row(claim, measure(claim, range(options.seeds), folder)))
            print("  ".join(rows[-1]), flush=True)
    if options.write:
        head = ("claim", "configuration", "holds", "seeds", "measured")
        title = f"What the document claims, and what happens ({options.seeds} seeds)"
        tables.write_section("signatures", title, tables.markdown(head, rows), PAGE)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
