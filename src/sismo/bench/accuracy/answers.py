"""What sismo says about a trained run, at each level of evidence, and how early it says so."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from sismo.bench.accuracy.plan import Trial
from sismo.bench.accuracy.training import LOG, Order, trained
from sismo.bench.accuracy.visible import Shape, shape
from sismo.bench.verdicts import Verdict, of_diagnosis
from sismo.errors import SourceError
from sismo.records.reader import read_run
from sismo.records.types import Run, Series
from sismo.signals import registry
from sismo.signals.presets import preset
from sismo.signals.view import View
from sismo.sources import load
from sismo.tree.catalogue import causes
from sismo.tree.walk import walk

LEVELS: Mapping[str, str] = {"log": "log only", "recorded": "recorded run", "probed": "with probes"}
"""Levels of evidence, from least to most, and what they are called."""
_FIRST_LOOK, _LATER = 5, 1.6
"""A run is looked at again this many steps after its fault began, and then each time after so many times as many."""
_TAIL = 0.1
"""Share of a run that its end is."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What is said at one level of evidence.

    Attributes:
        verdict: on the whole run. unseen: on the whole run, by a catalogue that lacks the family of the true cause; None for healthy runs.
        warned: step of the first look at which there was an alarm. named: of the first at which a true cause was first.
    """

    verdict: Verdict
    unseen: Verdict | None = None
    warned: int | None = None
    named: int | None = None


@dataclass(frozen=True, slots=True)
class Examined:
    """A trial after training and judging.

    Attributes:
        answers: by level. ends: level of the training and validation loss at the end, NaN where it is lost.
        loss: steps and values of the training loss. shape: what its log looks like.
    """

    trial: Trial
    answers: Mapping[str, Answer]
    ends: tuple[float, float]
    loss: Series
    shape: Shape


def examine(order: Order) -> Examined:
    """Trains a trial where needed, and judges it at every level."""
    folder, trial = trained(order), order.trial
    runs = evidence(folder)
    whole = runs["probed"]
    answers = {level: _answer(run, trial, early=level != "probed") for level, run in runs.items() if run is not None}
    ends = (_end(whole.get("loss/train")), _end(whole.get("loss/val")))
    return Examined(trial, answers, ends, whole.series["loss/train"], shape(runs["log"]))


def evidence(folder: Path) -> dict[str, Run]:
    """The run of a folder at each level: its log, read as any log is; the recorded run; and that with what probes found."""
    probed = read_run(folder)
    recorded = replace(probed, events=tuple(event for event in probed.events if event.kind != "probe"))
    try:
        log = load(folder / LOG)[0]
    except SourceError:
        log = replace(recorded, series={}, events=())
    return {"log": log, "recorded": recorded, "probed": probed}


def _answer(run: Run, trial: Trial, *, early: bool) -> Answer:
    observations = registry.observe(View.of(run, preset("robust").values))
    verdict = of_diagnosis(walk(observations))
    if not trial.truth:
        return Answer(verdict)
    family = causes()[trial.truth[0]].family
    without = {cause.id for cause in causes().values() if cause.family == family}
    unseen = of_diagnosis(walk(observations, without))
    warned, named = _first_looks(run, trial) if early else (None, None)
    return Answer(verdict, unseen, warned, named)


def _first_looks(run: Run, trial: Trial) -> tuple[int | None, int | None]:
    """When a run that is followed from the onset of its fault first gives an alarm, and first names a true cause."""
    warned: int | None = None
    for step in _looks(trial):
        verdict = of_diagnosis(walk(registry.observe(View.of(until(run, step), preset("robust").values))))
        if warned is None and verdict.alarm is not None:
            warned = step
        if verdict.first is not None and verdict.first.id in trial.truth:
            return warned, step
    return warned, None


def _looks(trial: Trial) -> Iterator[int]:
    onset, gap = trial.onset or 0, float(_FIRST_LOOK)
    while onset + gap < trial.steps:
        yield onset + round(gap)
        gap *= _LATER
    yield trial.steps - 1


def until(run: Run, step: int) -> Run:
    """The run as it was known right after a step."""
    cut = {name: Series(name, s.steps[s.steps <= step], s.values[s.steps <= step], s.source_key) for name, s in run.series.items()}
    kept = {name: series for name, series in cut.items() if len(series)}
    header = run.header._replace(status="running") if run.header.status is not None else run.header
    return replace(run, header=header, series=kept, events=tuple(event for event in run.events if event.step <= step))


def _end(series: Series | None) -> float:
    """The middle of the last tenth of a loss; NaN where any of it is lost."""
    if series is None or not len(series):
        return float("nan")
    last = series.values[-max(3, int(_TAIL * len(series))) :]
    return float(np.median(last)) if np.isfinite(last).all() else float("nan")
