"""Replay on the faults of the lab: ``python -m sismo.bench.replay [--seeds 8] [--faults ID …] [--runs FOLDER] [--write]``.

Trains each fault that has a bad step, finds that step in the run as its user would, and lets ``sismo probe replay`` say from the run's
checkpoints what the step is the fault of: data, state, precision, learning rate, hardware or structure. Runs that lie in the
folder are not trained again. Exits 1 when fewer than 95 % are right.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from sismo.bench import tables
from sismo.lab.catalogue import faults, tasks
from sismo.lab.changes import setting
from sismo.lab.parts import precision
from sismo.lab.train import train
from sismo.lab.types import Fault, Setup
from sismo.probes.case import BATCHES, Built, Case
from sismo.probes.kinds import replay
from sismo.probes.outcomes import Class, Outcome, Usual, usual_before
from sismo.records.reader import read_run
from sismo.records.schema import MANIFEST
from sismo.records.types import Run

CLASSES = {
    "long-tail-batch": Class.DATA,
    "labels-corrupted": Class.DATA,
    "nonfinite-input": Class.DATA,
    "all-labels-masked": Class.DATA,
    "nonfinite-weight": Class.STATE,
    "optimizer-state-corrupted": Class.STATE,
    "hardware-fault": Class.HARDWARE,
    "loss-scale-frozen": Class.PRECISION,
    "lr-jump": Class.LEARNING_RATE,
    "init-too-large": Class.STRUCTURE,
}
"""The class of each cause."""
_BOTH = ("mini-gpt", "mlp")
FAULTS = {
    "long-tail-batch": _BOTH,
    "labels-wrong": _BOTH,
    "labels-masked": _BOTH,
    "input-nan": ("mlp",),
    "weight-nan": _BOTH,
    "weight-flipped": ("mlp",),
    "scale-frozen": _BOTH,
    "lr-jump": _BOTH,
    "bad-init": ("mini-gpt",),
    "init-x30": ("mini-gpt",),
}
"""Those that spoil a step, with the tasks on which they do in a short run. The norms of the small GPT swallow a flipped weight, without a
vocabulary nothing says that a first loss is too high, and the convolutional net has not learnt enough yet for anything to spoil it."""
LEFT_OUT = {
    "no single step is bad: the run learns slowly, too well or not at all": (
        "attention-collapse", "bf16-weights", "broken-mask", "dead-relus", "decay-from-step", "decay-none", "decay-too-high",
        "dropout-at-eval", "duplicate-batches", "fp16-no-scaler", "init-tiny", "init-x2", "init-x5", "labels-ramped", "layer-frozen",
        "logit-drift", "lr-inverted", "lr-too-high", "lr-zero", "no-warmup", "parameters-left-out", "past-convergence",
        "resume-repeats-data", "resume-without-optimizer", "resume-without-scheduler", "schedule-never-stepped", "schedule-per-epoch",
        "schedule-too-fast", "val-in-train", "warmup-endless",
    ),
    "the fault lies in the loop, which a replay does not run": ("accumulation-summed", "clip-before-unscale", "missing-zero-grad"),
    "a short run does not get far enough for it to show": ("fp16-overflow", "naive-loss"),
    "both state and precision are right": ("scale-collapse",),
}  # fmt: skip
AFTER = (12, 30)
"""Steps after the onset at which a run is stopped, as somebody would who sees it go wrong: before its next checkpoint, and after it."""
_MACHINES = (
    "A weight that a machine spoils is put down to the machine where the run has the very state before it, and to the state otherwise. "
    "Machines that compute something else each time are in `tests/probes/test_replay.py`."
)
TARGET = 0.95


class Trial(NamedTuple):
    """One fault on one task at one seed."""

    fault: Fault
    task: str
    seed: int

    @property
    def wanted(self) -> set[Class]:
        """The classes of the causes that count as right. A weight that a machine spoils is hardware or state, as its checkpoints lie."""
        return {CLASSES[cause] for cause in self.fault.truth if cause in CLASSES}

    @property
    def setup(self) -> Setup:
        """The broken loop. Its length differs with the seed, so that the fault lies elsewhere between two checkpoints each time."""
        steps = 160 + 14 * (self.seed % 4)
        return self.fault.corrupt(
            setting(tasks()[self.task].setup, total_steps=steps, warmup=20, save_every=20, eval_every=steps, seed=self.seed)
        )


def trials(seeds: int, chosen: Iterable[str] = FAULTS) -> Iterator[Trial]:
    """Every fault on each of its tasks, at each seed."""
    for name in chosen:
        for task in FAULTS[name]:
            yield from (Trial(faults()[name], task, seed) for seed in range(seeds))


def suspect(run: Run, onset: int) -> int:
    """The first bad loss or gradient norm from the onset on; where there is none, the step after which the loss rises most in ten."""
    loss, norm = run.series["loss/train"].values, run.series["grad_norm/pre"].values
    usual = usual_before(run, onset) or Usual()
    bad = (step for step in range(onset, len(loss)) if Outcome("", float(loss[step]), float(norm[step])).bad_before(usual))
    return next(bad, onset + int(np.argmax(np.diff(loss[onset : onset + 11]))))


def attempt(trial: Trial, folder: Path) -> Class | None:
    """Trains, writes the batches round the suspected step into the run as the recorder does, and replays."""
    setup, path = trial.setup, folder / f"{trial.fault.id}-{trial.task}-{trial.seed}"
    onset = trial.fault.step(setup.settings)
    if not (path / MANIFEST).is_file():
        spoil(setup, path, onset + AFTER[trial.seed % 2])
    run = read_run(path)
    step = suspect(run, onset)
    keep(setup, path, step)
    torch.manual_seed(trial.seed)
    found = replay.run(Case(build(setup), run, given_step=step)).data["class"]
    return None if found == "none" else Class(str(found))


def spoil(setup: Setup, path: Path, last: int) -> None:
    """Trains until a step and stops there."""

    def advance(step: int) -> None:
        if step >= last:
            raise KeyboardInterrupt

    with suppress(KeyboardInterrupt):
        train(setup, path, advance)


def keep(setup: Setup, path: Path, step: int) -> None:
    """The suspected batch and the three before the onset, or after the first step: what a recorder that sees the batches has kept."""
    settings, data = setup.settings, setup.data(setup.settings)
    (path / BATCHES).mkdir(exist_ok=True)
    for old in (path / BATCHES).glob("*.pt"):
        old.unlink()
    for at in range(step - 3, step + 1) if step >= 3 else range(step, step + 4):
        given = setup.batch(settings, data, at)
        torch.save((given.inputs, given.targets), path / BATCHES / f"step-{at:09d}.pt")


def build(setup: Setup) -> Built:
    """What a user of the lab would write as ``build()``."""
    model = setup.model(setup.settings)

    def loss_fn(model: nn.Module, batch: Any) -> Tensor:
        with precision(setup.settings):
            return setup.loss(model(batch[0]), batch[1])

    return Built(model, loss_fn, setup.optimizer(setup.settings, model))


def main() -> int:
    """Prints a line for each replay; with ``--write`` puts the table into docs/results.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--faults", nargs="*", choices=FAULTS, default=list(FAULTS), metavar="ID")
    parser.add_argument("--runs", type=Path)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    every: list[tuple[Trial, Class | None]] = []
    with tempfile.TemporaryDirectory() as temporary:
        for trial in trials(options.seeds, options.faults):
            found = attempt(trial, options.runs or Path(temporary))
            every.append((trial, found))
            mark = "right" if found in trial.wanted else "WRONG"
            print(f"{trial.fault.id:16} {trial.task:9} seed {trial.seed}  {mark}  {found.value if found else 'none'}", flush=True)
    rows = [row(name, [pair for pair in every if pair[0].fault.id == name]) for name in dict.fromkeys(t.fault.id for t, _ in every)]
    right = sum(found in trial.wanted for trial, found in every)
    rows.append(("all", "", tables.share(right, len(every)), ""))
    head = ("fault", "class", "right", "said")
    print(tables.plain(head, rows))
    if options.write:
        title = f"Replay: what a bad step is the fault of ({len(every)} faults of the lab)"
        left = "\n".join(f"- {', '.join(names)}: {why}." for why, names in left_out().items())
        body = f"{tables.markdown(head, rows)}\n\n{_MACHINES}\n\nFaults of the lab that are left out:\n\n{left}"
        tables.write_section("replay", title, body)
    return 0 if right >= TARGET * len(every) else 1


def left_out() -> dict[str, tuple[str, ...]]:
    """Every fault of the lab that is not tried, by the reason; one that came later has none yet."""
    known = {*FAULTS, *(name for names in LEFT_OUT.values() for name in names)}
    later = tuple(name for name in faults() if name not in known)
    return {**LEFT_OUT, **({"nobody has looked yet whether it spoils a step": later} if later else {})}


def row(name: str, tried: list[tuple[Trial, Class | None]]) -> tuple[str, ...]:
    """One line of the table."""
    right = sum(found in trial.wanted for trial, found in tried)
    said = Counter(found.value if found else "none" for _, found in tried)
    wanted = " or ".join(sorted(one.value for one in tried[0][0].wanted))
    return (name, wanted, tables.share(right, len(tried)), ", ".join(f"{what} {count}" for what, count in said.most_common()))


if __name__ == "__main__":
    raise SystemExit(main())
