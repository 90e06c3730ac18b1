"""Trains a trial into its folder, once: what lies there was trained by the same code and is not trained again."""

from __future__ import annotations

import importlib
import json
import pkgutil
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import torch

from sismo.bench.accuracy.plan import Trial
from sismo.errors import SismoError
from sismo.judge import first_alarm
from sismo.lab.drawn.catalogue import formats
from sismo.lab.parts import precision
from sismo.lab.train import train
from sismo.lab.types import Loop, Setup
from sismo.probes import kinds as probe_modules
from sismo.probes.case import BATCHES, Built, Case, first_lost
from sismo.recorder.checkpoints import FOLDER
from sismo.records.probing import add_event
from sismo.records.reader import read_run
from sismo.records.types import Header, Run

LOG = "log.jsonl"
"""What an ordinary logger would have written: loss, validation loss, learning rate and gradient norm."""
OUTCOME = "outcome.json"
"""Why training ended early, and what each probe came to. It is written last: a folder without it is no result."""
_OTHERS = 3
"""Batches before the suspected one that are kept."""
_LOGGED = ("loss/train", "loss/val", "lr/0", "grad_norm/pre")


class Order(NamedTuple):
    """A trial and the folder of all runs."""

    trial: Trial
    root: Path

    @property
    def folder(self) -> Path:
        """Where the run lies."""
        return self.root / f"{self.trial.id}-{self.trial.key()}"


def trained(order: Order) -> Path:
    """Trains, probes and logs a trial where that was not done before. Returns its folder."""
    folder = order.folder
    if (folder / OUTCOME).is_file():
        return folder
    draft = folder.with_name(f".{folder.name}.part")
    shutil.rmtree(draft, ignore_errors=True)
    outcome: dict[str, object] = {}
    setup = order.trial.setup()
    try:
        train(setup, draft)
    except Exception as error:  # a fault may well end its run: what was recorded until then is what a user would have
        outcome["ended"] = f"{type(error).__name__}: {error}"
    outcome["probes"] = _probe(setup, draft)
    (draft / LOG).write_text(log_of(read_run(draft)), encoding="utf-8")
    for bulky in (FOLDER, BATCHES):
        shutil.rmtree(draft / bulky, ignore_errors=True)
    (draft / OUTCOME).write_text(json.dumps(outcome), encoding="utf-8")
    shutil.rmtree(folder, ignore_errors=True)
    draft.rename(folder)
    return folder


def log_of(run: Run) -> str:
    """A run as the lines of a plain log."""
    kept = {channel: series for channel, series in run.series.items() if channel in _LOGGED}
    return "\n".join(formats()["jsonl"].lines(Run(run.path, Header("jsonl"), kept))) + "\n"


def _probe(setup: Setup, folder: Path) -> dict[str, str]:
    """Runs every probe on the run as a user would, and adds what it proves to the run. Says of each what it came to."""
    said: dict[str, str] = {}
    for name in sorted(module.name for module in pkgutil.iter_modules(probe_modules.__path__)):
        probe = importlib.import_module(f"{probe_modules.__name__}.{name}")
        try:
            case = _case(setup, folder)
            report = probe.run(case)
            add_event(folder, report.event(case.step))
            said[name] = str(report.verdict)
        except SismoError as error:
            said[name] = f"not done: {error}"
    return said


def _case(setup: Setup, folder: Path) -> Case:
    """The model as it is built, the run with its checkpoints, and the batches up to the suspected one, as a recorder keeps them."""
    settings, run = setup.settings, read_run(folder)
    torch.manual_seed(settings.seed)
    model, data, step = setup.model(settings), setup.data(settings), _suspected(run)
    kept = folder / BATCHES
    kept.mkdir(exist_ok=True)
    for at in range(max(0, step - _OTHERS), step + 1):
        batch = setup.batch(settings, data, at * settings.accumulation)
        torch.save((batch.inputs, batch.targets), kept / f"step-{at:09d}.pt")

    def loss(of: Any, pair: Any) -> torch.Tensor:
        return setup.loss(of(pair[0]), pair[1])

    def loop(of: Any, pair: Any, optimizer: Any) -> None:
        state = Loop(setup, data, of, optimizer, setup.scaler(settings), {})
        setup.zero(state)
        with precision(settings):
            value = loss(of, pair)
        setup.backward(state, value)
        setup.clip(state)
        setup.apply(state)

    train, val = ([(rows.inputs, rows.targets)] for rows in (data.train, data.val))
    return Case(Built(model, loss, setup.optimizer(settings, model), loop, train, val), run, step)


def _suspected(run: Run) -> int:
    """The step that a user would look at: where the loss is lost, else where the leading cause began, else the last."""
    lost = first_lost(run)
    alarm = first_alarm(run) if lost is None else lost
    return int(run.series["loss/train"].steps[-1]) if alarm is None else alarm
