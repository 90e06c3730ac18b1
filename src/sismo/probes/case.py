"""What a probe works on, put together from an entry point, a run folder, a checkpoint and a batch."""

from __future__ import annotations

import importlib
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer

from sismo.errors import UsageError
from sismo.probes import checkpoints
from sismo.probes.checkpoints import Checkpoint
from sismo.probes.flow import Loop
from sismo.probes.step import LossFn, one_line
from sismo.records.channels import LOSS_TRAIN
from sismo.records.reader import read_run
from sismo.records.types import Run

BATCHES = "batches"
"""Folder of a run in which the recorder keeps the batches of steps that went wrong."""
_HALF = {"fp16": torch.float16, "bf16": torch.bfloat16}


@dataclass(frozen=True, slots=True)
class Built:
    """What ``build()`` returns."""

    model: nn.Module
    loss_fn: LossFn
    optimizer: Optimizer | None = None
    loop: Loop | None = None


@dataclass(frozen=True)
class Case:
    """A model, the state to put it into, and the batch that is suspected.

    ``given_step``, ``given_batch`` and ``given_checkpoint`` are what the user asked for; the rest comes from the run where there is one.
    """

    built: Built
    run: Run | None = None
    given_step: int | None = None
    given_checkpoint: Path | None = None
    given_batch: Path | None = None

    @cached_property
    def step(self) -> int:
        """The suspected step: the one given, else the first at which the loss is lost, else that of the checkpoint."""
        if self.given_step is not None:
            return self.given_step
        first = first_lost(self.run) if self.run is not None else None
        if first is not None:
            return first
        return (self.checkpoint.step or 0) if self.checkpoint is not None else 0

    @cached_property
    def checkpoint(self) -> Checkpoint | None:
        """The one given, else the last of the run before the suspected step whose weights are all finite."""
        if self.given_checkpoint is not None:
            return checkpoints.checkpoint(self.given_checkpoint)
        return next(self.earlier(), None) if self.run is not None else None

    def earlier(self) -> Iterator[Checkpoint]:
        """Finite checkpoints of the run before the suspected step, the last one first."""
        assert self.run is not None
        until = self.given_step if self.given_step is not None else first_lost(self.run)
        for event in reversed(self.run.events_of("checkpoint")):
            path = _at(Path(self.run.path), str(event.data.get("path", "")))
            if path is not None and (until is None or event.step < until):
                found = checkpoints.checkpoint(path)
                if found.finite:
                    yield found

    @cached_property
    def batch(self) -> Any:
        """The batch given, else the one that the recorder kept of the suspected step, or the last one before it.

        Raises ``UsageError`` where there is none.
        """
        if self.given_batch is not None:
            return checkpoints.batch(self.given_batch)
        kept = self.batches()
        if not kept:
            raise UsageError("there is no batch to try: give --batch FILE, or record with rec.batches(loader), which keeps bad ones")
        before = [path for at, path in kept if at <= self.step]
        return checkpoints.batch(before[-1] if before else kept[0][1])

    def batches(self) -> list[tuple[int, Path]]:
        """The batches that the recorder kept, by step."""
        if self.run is None:
            return []
        found = (Path(self.run.path) / BATCHES).glob("step-*.pt")
        return sorted((int(path.stem.removeprefix("step-")), path) for path in found if path.stem.removeprefix("step-").isdigit())

    @property
    def autocast(self) -> torch.dtype | None:
        """The dtype of the run's autocast, where its weights are kept in full precision."""
        half = _HALF.get(self.run.header.dtype or "") if self.run is not None else None
        wide = any(parameter.dtype is torch.float32 for parameter in self.built.model.parameters())
        return half if wide else None

    @property
    def clip(self) -> float | None:
        """The run's bound on the gradient norm."""
        return self.run.header.clip if self.run is not None else None

    @property
    def loss_scale(self) -> float:
        """The loss scale at the checkpoint, for a run in fp16."""
        return self.checkpoint.loss_scale if self.checkpoint is not None and self.autocast is torch.float16 else 1.0

    def load(self) -> None:
        """Puts the model and its optimizer into the state of the checkpoint, where there is one."""
        if self.checkpoint is not None:
            checkpoints.put_into(self.checkpoint, self.built.model, self.built.optimizer)


def case(entry: str, run: str | None = None, checkpoint: str | None = None, step: int | None = None, batch: str | None = None) -> Case:
    """Puts a case together. Raises ``UsageError`` where a part of it cannot be had."""
    found = read_run(run) if run is not None else None
    return Case(built(entry), found, step, Path(checkpoint) if checkpoint else None, Path(batch) if batch else None)


def built(entry: str) -> Built:
    """Calls an entry point ``pkg.module:build``. Raises ``UsageError`` when there is none, or it returns something else."""
    module, colon, name = entry.partition(":")
    if not (module and colon and name):
        raise UsageError(f"an entry point is written pkg.module:build, not {entry!r}")
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    found = _user(f"{module} cannot be imported", lambda: importlib.import_module(module))
    build = getattr(found, name, None)
    if not callable(build):
        raise UsageError(f"{module} has no function {name}")
    made = _user(f"{entry} failed", build)
    parts = made if isinstance(made, tuple) else (made,)
    model, loss_fn, optimizer, loop, *more = (*parts, None, None, None)
    sound = isinstance(model, nn.Module) and callable(loss_fn) and isinstance(optimizer, Optimizer | None)
    if not (sound and (loop is None or callable(loop)) and len(more) < 4):
        said = ", ".join(type(part).__name__ for part in parts)
        raise UsageError(f"{entry} must return a model and a loss function, and may return an optimizer and a loop; it returned {said}")
    return Built(model, loss_fn, optimizer, loop)


def first_lost(run: Run) -> int | None:
    """The first step at which the loss or something else was seen to be non-finite."""
    loss = run.get(LOSS_TRAIN)
    steps = [event.step for event in run.events_of("nonfinite")]
    if loss is not None:
        steps += [int(at) for at, value in zip(loss.steps, loss.values, strict=True) if not math.isfinite(value)][:1]
    return min(steps, default=None)


def _user(what: str, call: Callable[[], Any]) -> Any:
    """Runs code of the user's; whatever it raises becomes one line."""
    try:
        return call()
    except Exception as error:
        raise UsageError(f"{what}: {one_line(error)}") from error


def _at(folder: Path, path: str) -> Path | None:
    """Where a checkpoint lies now: as it was written down, or in the run folder, which may have been moved."""
    return next((place for place in (Path(path), folder / "checkpoints" / Path(path).name) if place.is_file()), None)
