"""The trainer: runs a setup into a run folder, through the public recorder, as a user's own loop would."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from sismo.lab.parts import precision
from sismo.lab.types import IGNORE, Batch, Loop, Setup
from sismo.recorder import Recorder
from sismo.recorder.checkpoints import FOLDER
from sismo.records.reader import read_run
from sismo.records.types import Header, Run

LOOK_EVERY = 10
"""Steps between two looks of the recorder's panels: fixed, so that what a run shows does not hang on how busy the machine is."""
LOGGED = ("loss", "lr", "grad_norm", "loss_scale", "skipped", "epoch")
"""Families of channels that an ordinary log has."""


def train(setup: Setup, path: Path, advance: Callable[[int], None] = lambda step: None) -> Run:
    """Trains a setup into a new run folder, on one thread; the same setup trains and records the same to the last bit.

    Arguments:
        advance: called with the number of each step that is over.

    Returns the run as it reads back.
    """
    with _alone(setup.settings.seed):
        checkpoint = None
        if setup.resume_at is not None:
            _life(setup, path, advance, None, until=setup.resume_at)
            checkpoint = torch.load(max((path / FOLDER).glob("*.pt")), weights_only=False)
        _life(setup, path, advance, checkpoint, until=setup.settings.total_steps)
    return read_run(path)


def log_only(run: Run) -> Run:
    """What an ordinary log would have kept of a run: no panels, no events, no configuration."""
    kept = {channel: series for channel, series in run.series.items() if channel.partition("/")[0] in LOGGED}
    return replace(run, header=Header(source="jsonl", status=run.header.status), series=kept, events=())


def _life(setup: Setup, path: Path, advance: Callable[[int], None], checkpoint: Mapping[str, Any] | None, *, until: int) -> None:
    """One life of the process: from the beginning or a checkpoint to a step."""
    settings = setup.settings
    loop = _loop(setup)
    first = 0 if checkpoint is None else setup.restore(loop, checkpoint)
    scaler = loop.scaler if loop.scaler.is_enabled() else None
    with Recorder(
        loop.model,
        loop.optimizer,
        path,
        config=_config(loop),
        budget=None,
        every=LOOK_EVERY,
        save_every=settings.save_every,
        scaler=scaler,
        first_step=first,
    ) as recorder:
        for step in range(first, until):
            setup.before(loop, step)
            loss, classes = _step(loop, step)
            due = step % settings.eval_every == 0 or step == settings.total_steps - 1
            recorder.step(loss, val=setup.evaluate(loop) if due else None, classes=classes)
            advance(step)


def _config(loop: Loop) -> dict[str, object]:
    """What the manifest says: the settings, and the entropy of the data where it is known."""
    return {**asdict(loop.settings), "entropy": loop.data.entropy}


def _loop(setup: Setup) -> Loop:
    data, model = setup.data(setup.settings), setup.model(setup.settings)
    model.train()
    return Loop(setup, data, model, setup.optimizer(setup.settings, model), setup.scaler(setup.settings), {})


def _step(loop: Loop, step: int) -> tuple[Tensor, dict[str, Tensor]]:
    """One optimizer step. Returns the loss that the loop logs, and that of each class in the last micro-batch."""
    setup, settings = loop.setup, loop.settings
    for group in loop.optimizer.param_groups:
        group["lr"] = setup.rate(settings, step)
    setup.zero(loop)
    logged: list[Tensor] = []
    for micro in range(settings.accumulation):
        batch = setup.batch(settings, loop.data, step * settings.accumulation + micro)
        with precision(settings):
            logits = loop.model(batch.inputs)
            loss = setup.loss(logits, batch.targets)
        logged.append(setup.backward(loop, loss))
    setup.clip(loop)
    setup.apply(loop)
    return torch.stack(logged).sum(), _by_class(logits.detach(), batch, loop.data.kinds)


def _by_class(logits: Tensor, batch: Batch, kinds: tuple[str, ...]) -> dict[str, Tensor]:
    found: dict[str, Tensor] = {}
    for number, name in enumerate(kinds):
        chosen = (batch.kinds == number) & (batch.targets != IGNORE)
        if bool(chosen.any()):
            found[name] = functional.cross_entropy(logits[chosen].float(), batch.targets[chosen])
    return found


@contextmanager
def _alone(seed: int) -> Iterator[None]:
    """One thread and random numbers of its own, so that a run comes out the same wherever it is called from."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            yield
    finally:
        torch.set_num_threads(threads)
