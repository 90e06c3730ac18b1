"""sismo sits many exams: ``python -m sismo.bench.exam [--seeds 10] [--steps 2000] [--runs FOLDER] [--write]``.

Each seed shuffles the three failures and trains them with the norm before and after the blocks, and on fixed chunks of text. Exams that
lie in the folder are sat again, not trained again.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import NamedTuple

from sismo.bench import tables
from sismo.bench.signatures import PAGE
from sismo.judge import diagnose
from sismo.lab import exam, sealed
from sismo.records.reader import read_run
from sismo.report.language import language

KINDS = (("pre", "rows"), ("post", "rows"), ("pre", "chunks"))


class Sat(NamedTuple):
    """One exam: its marks, and whether the healthy run beside it was called healthy."""

    norm: str
    layout: str
    seed: int
    marks: list[exam.Mark]
    healthy: bool


def sit(norm: str, layout: str, seed: int, steps: int, root: Path) -> Sat:
    """Makes an exam where there is none yet, lets sismo answer, and marks it; it stays sealed, so that it can be sat again."""
    if not (root / exam.EXAM).exists():
        exam.make(root, exam.Options(seed=seed, steps=steps, norm=norm, layout=layout), language("en"), lambda: None)
    exam.sit(root)
    well = diagnose(read_run(root / exam.HEALTHY)).healthy is True
    return Sat(norm, layout, seed, exam.marks(sealed.read(root / exam.EXAM)), well)


def main() -> int:
    """Prints a line for each exam; with ``--write`` puts the table into docs/lab.md. Exits 1 unless every answer is right."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--runs", type=Path)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    every: list[Sat] = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.runs or Path(temporary)
        for seed in range(options.seeds):
            for norm, layout in KINDS:
                sat = sit(norm, layout, seed, options.steps, folder / f"{norm}-{layout}-{options.steps}-{seed}")
                every.append(sat)
                answers = ", ".join(f"{mark.fault.id}: {mark.answer.name}" for mark in sat.marks)
                right = sum(mark.right for mark in sat.marks)
                print(f"seed {seed} {norm} {layout}  {right} of 3  {answers}  healthy: {sat.healthy}", flush=True)
    if options.write:
        rows = [_row(norm, layout, [sat for sat in every if (sat.norm, sat.layout) == (norm, layout)]) for norm, layout in KINDS]
        head = ("norm", "layout", "exams with 3 of 3", "answers right", "healthy runs called healthy")
        tables.write_section("exam", f"sismo sits the exam ({options.steps} steps)", tables.markdown(head, rows), PAGE)
    return 0 if all(mark.right for sat in every for mark in sat.marks) else 1


def _row(norm: str, layout: str, sat: list[Sat]) -> tuple[str, ...]:
    full = sum(all(mark.right for mark in one.marks) for one in sat)
    right = sum(mark.right for one in sat for mark in one.marks)
    return (
        norm,
        layout,
        tables.share(full, len(sat)),
        tables.share(right, 3 * len(sat)),
        tables.share(sum(s.healthy for s in sat), len(sat)),
    )


if __name__ == "__main__":
    raise SystemExit(main())
