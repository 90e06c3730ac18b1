"""What a probe works on, put together from an entry point, a run folder, a checkpoint and a batch."""

from __future__ import annotations

import importlib
import math
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.optim import Optimizer

from sismo.errors import UsageError
from sismo.probes import checkpoints
from sismo.probes.checkpoints import Checkpoint
from sismo.probes.step import LossFn, one_line
from sismo.probes.watched import Loop
from sismo.records.channels import GRAD_NORM_PRE, LOSS_SCALE, LOSS_TRAIN
from sismo.records.clipping import clip_of
from sismo.records.probing import ProbeReport
from sismo.records.reader import read_run
from sismo.records.schema import BATCHES
from sismo.records.types import Note, Run

_HALF = {"fp16": torch.float16, "bf16": torch.bfloat16}


@dataclass(frozen=True, slots=True)
class Built:
    """What ``build()`` returns."""

    model: nn.Module
    loss_fn: LossFn
    optimizer: Optimizer | None = None
    loop: Loop | None = None
    train: Iterable[Any] | None = None
    val: Iterable[Any] | None = None


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

    @property
    def undated(self) -> bool:
        """Whether neither the user nor a lost loss says which step is suspected."""
        return self.given_step is None and self.given_checkpoint is None and (self.run is None or first_lost(self.run) is None)

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
        for at, path in reversed(list(self._written())):
            if until is None or at < until:
                found = checkpoints.checkpoint(path)
                if found.finite:
                    yield found

    @cached_property
    def batch(self) -> Any:
        """The batch given, else the one that the recorder kept of the suspected step, or the last one before it, else the loader's first.

        Raises ``UsageError`` where there is none.
        """
        if self.given_batch is not None:
            return checkpoints.batch(self.given_batch)
        kept = self.batches()
        if not kept and self.built.train is not None:
            train = self.built.train
            return _user("the loader for training failed", lambda: next(iter(train)))
        if not kept:
            raise UsageError(
                "there is no batch to try: give --batch FILE, record with rec.batches(loader), which keeps bad ones, or let build() return "
                "the loader for training as the fifth"
            )
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
        return clip_of(self.run) if self.run is not None else None

    @property
    def loss_scale(self) -> float:
        """The loss scale of the step, for a run in fp16: what was logged, else that of the checkpoint."""
        if self.autocast is not torch.float16:
            return 1.0
        return self._logged(LOSS_SCALE) or (self.checkpoint.loss_scale if self.checkpoint is not None else 1.0)

    @property
    def initial(self) -> bool:
        """Whether the suspected step is the first of a run: the model is as ``build()`` makes it, and there is no state before it."""
        return self.run is not None and self.step == 0 and self.checkpoint is None

    @property
    def exact(self) -> bool:
        """Whether the state is the very one that the run took the step from."""
        return self.initial or (self.checkpoint is not None and self.checkpoint.step == self.step - 1)

    def load(self, state: Checkpoint | None = None) -> None:
        """Puts model and optimizer into a state, that of the checkpoint by default, with the learning rates of the suspected step."""
        state = state or self.checkpoint
        if state is not None:
            checkpoints.put_into(state, self.built.model, self.built.optimizer)
        groups = self.built.optimizer.param_groups if self.built.optimizer is not None else []
        rates = [self._logged(f"lr/{number}") for number in range(len(groups))]
        for group, rate in zip(groups, rates, strict=True):
            if rate is not None:
                group["lr"] = rate

    def restore(self) -> None:
        """As ``load``, for a probe whose answer is about the suspected step and no other.

        Raises ``UsageError`` where the run wrote checkpoints before that step and none of them is left and finite.
        """
        if self.checkpoint is None and self.run is not None and any(event.step < self.step for event in self.run.events_of("checkpoint")):
            raise UsageError(f"{self.run.path}: no finite checkpoint from before step {self.step} is left; give one with --checkpoint")
        self.load()

    def remarked(self, found: ProbeReport) -> ProbeReport:
        """A result with what has to be known about the state that it comes from."""
        if self.run is None:
            return found
        notes = list(found.notes)
        if self.checkpoint is not None:
            notes.append(
                Note(
                    "state",
                    "The state is that of step {state}, the suspected step {step}.",
                    {"state": self.checkpoint.step, "step": self.step},
                )
            )
        elif self.step:
            notes.append(
                Note(
                    "as-built",
                    "The weights are as build() makes them: the run wrote no checkpoint before step {step}.",
                    {"step": self.step},
                )
            )
        if not self.has_batch:
            notes.append(Note("other-batch", "The run kept no batch of step {step}: another one was tried.", {"step": self.step}))
        return found._replace(notes=tuple(notes))

    @property
    def lost(self) -> bool:
        """Whether the run itself had no finite loss, or no finite gradient, at the suspected step."""
        seen = [self.run.get(channel) for channel in (LOSS_TRAIN, GRAD_NORM_PRE)] if self.run is not None else []
        values = [series.at(self.step) for series in seen if series is not None]
        return any(value is not None and not math.isfinite(value) for value in values)

    @property
    def has_batch(self) -> bool:
        """Whether the batch is the one of the suspected step: given, or kept by the recorder."""
        return self.given_batch is not None or any(at == self.step for at, _ in self.batches())

    def later(self) -> Checkpoint | None:
        """The first checkpoint of the run from the suspected step on: the state that the trouble left.

        None where that is not finite: lost weights are what a lost loss leaves, whatever it was lost by.
        """
        found = next((checkpoints.checkpoint(path) for at, path in self._written() if at >= self.step), None)
        return found if found is not None and found.finite else None

    def _logged(self, channel: str) -> float | None:
        """What the run logged of a channel at the suspected step, or last before it."""
        series = self.run.get(channel) if self.run is not None else None
        if series is None:
            return None
        known = series.values[(series.steps <= self.step) & np.isfinite(series.values)]
        return float(known[-1]) if known.size else None

    def _written(self) -> Iterator[tuple[int, Path]]:
        """The checkpoints of the run that are still there, by step."""
        assert self.run is not None
        for event in self.run.events_of("checkpoint"):
            path = _at(Path(self.run.path), str(event.data.get("path", "")))
            if path is not None:
                yield event.step, path


def case(entry: str, run: str | None = None, checkpoint: str | None = None, step: int | None = None, batch: str | None = None) -> Case:
    """Puts a case together. Raises ``UsageError`` where a part of it cannot be had, or the run never took that step."""
    found = read_run(run) if run is not None else None
    loss = found.get(LOSS_TRAIN) if found is not None else None
    if step is not None and loss is not None and not loss.steps[0] <= step <= loss.steps[-1]:
        raise UsageError(f"{run} has the steps {loss.steps[0]} to {loss.steps[-1]}: there is no step {step}")
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
    if not _sound(parts):
        said = ", ".join(type(part).__name__ for part in parts)
        raise UsageError(
            f"{entry} must return a model and a loss function, and may return an optimizer, a loop, and loaders for training and "
            f"validation after them; it returned {said}"
        )
    if any(parameter.is_meta for parameter in parts[0].parameters()):
        raise UsageError(f"{entry} returned a model on the meta device, which has no numbers in it: build it on a real one")
    return Built(*parts)


def _sound(parts: tuple[Any, ...]) -> bool:
    """Whether these are the parts of ``Built``, in their order; those that are not needed may be None."""
    if not 2 <= len(parts) <= 6:
        return False
    model, loss_fn, *more = parts
    optimizer, loop, train, val = (*more, *[None] * (4 - len(more)))
    loaders = all(loader is None or isinstance(loader, Iterable) for loader in (train, val))
    called = callable(loss_fn) and (loop is None or callable(loop))
    return isinstance(model, nn.Module) and isinstance(optimizer, Optimizer | None) and called and loaders


def first_lost(run: Run) -> int | None:
    """The first step at which the loss or something else was seen to be non-finite.

    A gradient that is lost in the steps right before the loss is where it began; one of which a scaler left out the step is followed by a
    loss.
    """
    loss, norm = run.get(LOSS_TRAIN), run.get(GRAD_NORM_PRE)
    steps = [event.step for event in run.events_of("nonfinite")]
    if loss is not None:
        steps += [int(at) for at, value in zip(loss.steps, loss.values, strict=True) if not math.isfinite(value)][:1]
    first = min(steps, default=None)
    while first is not None and norm is not None and not math.isfinite(norm.at(first - 1) or 0.0):
        first -= 1
    return first


def _user(what: str, call: Callable[[], Any]) -> Any:
    """Runs code of the user's; whatever it raises becomes one line."""
    try:
        return call()
    except (Exception, SystemExit) as error:
        raise UsageError(f"{what}: {one_line(error)}") from error


def _at(folder: Path, path: str) -> Path | None:
    """Where a checkpoint lies now: in the run folder, which may have been moved, or as it was written down."""
    return next((place for place in (folder / "checkpoints" / Path(path).name, Path(path)) if place.is_file()), None)
