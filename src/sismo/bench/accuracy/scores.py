"""The figures: from what was said about each run to how often it was right, how early, and how sure of itself."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from sismo.bench.accuracy.answers import Examined
from sismo.bench.accuracy.plan import Trial
from sismo.bench.accuracy.visible import outstanding
from sismo.bench.cases import CONFIDENT
from sismo.bench.labels import SYMPTOMS
from sismo.bench.verdicts import Verdict
from sismo.compare import compare
from sismo.records.types import Header, Run

Result = Literal["right", "pair", "unknown", "missed", "wrong", "confidently wrong"]
RESULTS: tuple[Result, ...] = ("right", "pair", "unknown", "missed", "wrong", "confidently wrong")
"""``pair``: an open pair of look-alikes of which one is true. ``unknown``: no verdict, or one that says what the curve does and not why.
``missed``: called healthy. ``wrong``: another cause, with less than the confidence that counts as sure."""

BINS = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 1.01)
"""Edges of stated confidence in the table of calibration."""
_NOISE, _FLOOR = 3.0, 0.01
"""A run ends as its twin does within so many standard deviations of plain runs' ends, each taken to be at least this share of them."""


def classify(verdict: Verdict, truth: Sequence[str]) -> Result:
    """What a verdict on a faulty run amounts to."""
    first = verdict.first
    if first is not None and first.id in truth:
        return "right"
    if first is not None and set(first.twins) & set(truth):
        return "pair"
    if verdict.alarm is None:
        return "missed" if verdict.healthy else "unknown"
    if verdict.alarm.id in SYMPTOMS:
        return "unknown"
    return "confidently wrong" if verdict.alarm.confidence >= CONFIDENT else "wrong"


def without_effect(examined: Sequence[Examined]) -> list[Examined]:
    """The faulty runs that end as their clean twins do, within the noise of plain runs."""
    plain = {one.trial: one.ends for one in examined if one.trial == one.trial.twin}
    spread = {task: _spread([ends for trial, ends in plain.items() if trial.task == task]) for task in {trial.task for trial in plain}}
    return [one for one in _faulty(examined) if one.trial.twin in plain and _alike(one.ends, plain[one.trial.twin], spread[one.trial.task])]


def shown(examined: Sequence[Examined]) -> set[Trial]:
    """The faulty runs whose log stands further out of the healthy ones of its model than any healthy log does."""
    found: set[Trial] = set()
    for task in {one.trial.task for one in examined}:
        own = [one for one in examined if one.trial.task == task]
        names = {one.trial.id: one.trial for one in _faulty(own)}
        stands_out = outstanding({one.trial.id: one.shape for one in _faulty(own)}, [one.shape for one in healthy(own)])
        found |= {names[name] for name in stands_out}
    return found


@dataclass(frozen=True, slots=True)
class Score:
    """How sismo did at one level of evidence, over faulty runs that had an effect.

    Attributes:
        results: how many runs had which result. in_three: how many had a true cause among the first three.
        confusions: main true cause, what was said instead or ``unknown``, how often.
        onset: signed step errors of causes that were right. delay: steps from onset to the first look that named it.
        lead: steps from the first warning to the loss moving away from its twin; negative when the warning came later.
        stated: for each bin of confidence, how many first causes were stated and how many of them were right.
        unseen: of runs judged without the family of their cause, how many came out unknown or as another true cause, and of how many.
        visible: of runs whose log stands out of the healthy ones, how many were right, how many right or in the open pair, and of how many.
    """

    results: Mapping[Result, int]
    in_three: int
    confusions: Mapping[tuple[str, str], int]
    onset: Sequence[int]
    delay: Sequence[int]
    lead: Sequence[int]
    stated: Sequence[tuple[float, float, int, int]]
    unseen: tuple[int, int]
    visible: tuple[int, int, int]

    @property
    def total(self) -> int:
        """Runs that were scored."""
        return sum(self.results.values())


def score(examined: Sequence[Examined], level: str) -> Score:
    """The score at a level, over the runs that are given."""
    twins = {one.trial: one for one in examined if one.trial == one.trial.twin}
    idle = {one.trial for one in without_effect(examined)}
    scored = [one for one in _faulty(examined) if one.trial not in idle and level in one.answers]
    results: Counter[Result] = Counter()
    seen = shown(examined)
    visible: Counter[Result] = Counter()
    confusions: Counter[tuple[str, str]] = Counter()
    onset: list[int] = []
    delay: list[int] = []
    lead: list[int] = []
    in_three = hidden = 0
    for one in scored:
        trial, answer = one.trial, one.answers[level]
        result = classify(answer.verdict, trial.truth)
        results[result] += 1
        visible[result] += trial in seen
        first = answer.verdict.first
        said = first.id if first is not None and result not in ("unknown", "missed") else result
        confusions[trial.truth[0], trial.truth[0] if result == "right" else said] += 1
        named = {cause.id for cause in answer.verdict.causes[:3]} | set(first.twins if first else ())
        in_three += bool(named & set(trial.truth))
        began = trial.onset or 0
        if result == "right" and first is not None and first.step is not None:
            onset.append(first.step - began)
        if answer.named is not None:
            delay.append(answer.named - began)
        moved = _moved(twins.get(trial.twin), one)
        if answer.warned is not None and moved is not None:
            lead.append(moved - answer.warned)
        hidden += answer.unseen is not None and (is_unknown(answer.unseen) or classify(answer.unseen, trial.truth) == "right")
    counts: dict[Result, int] = {result: results[result] for result in RESULTS}
    told = (visible["right"], visible["right"] + visible["pair"], visible.total())
    return Score(counts, in_three, confusions, onset, delay, lead, _stated(scored, level), (hidden, len(scored)), told)


def is_unknown(verdict: Verdict) -> bool:
    """Whether a verdict names no cause: silence, a symptom, an open pair, or no more than *possibly* (under 50 %)."""
    alarm = verdict.alarm
    return alarm is None or alarm.id in SYMPTOMS or bool(alarm.twins) or alarm.confidence < 0.5


def false_alarms(examined: Iterable[Examined], level: str) -> list[Examined]:
    """The healthy runs in which something at warning or worse was named."""
    return [one for one in healthy(examined) if level in one.answers and one.answers[level].verdict.alarm is not None]


def healthy(examined: Iterable[Examined]) -> list[Examined]:
    """The healthy runs."""
    return [one for one in examined if not one.trial.truth]


def middle(values: Sequence[int]) -> str:
    """Median and quartiles, as they are printed."""
    if not values:
        return "–"
    if len(values) < 4:
        return f"{statistics.median(values):g}"
    low, mid, high = statistics.quantiles(values, n=4)
    return f"{mid:g} ({low:g} to {high:g})"


def _faulty(examined: Iterable[Examined]) -> list[Examined]:
    return [one for one in examined if one.trial.truth]


def _stated(scored: Sequence[Examined], level: str) -> list[tuple[float, float, int, int]]:
    verdicts = [(one.answers[level].verdict, one.trial.truth) for one in scored]
    stated = [(v.first.confidence, v.first.id in truth) for v, truth in verdicts if v.first is not None]
    bins: list[tuple[float, float, int, int]] = []
    for low, high in pairwise(BINS):
        inside = [right for confidence, right in stated if low <= confidence < high]
        bins.append((low, min(high, 1.0), len(inside), sum(inside)))
    return bins


def _moved(twin: Examined | None, one: Examined) -> int | None:
    """The step at which the training loss parts from that of the twin, or is lost."""
    if twin is None:
        return None
    bad = one.loss.steps[~np.isfinite(one.loss.values)]
    lost = int(bad[0]) if bad.size else None
    found = compare(_alone(twin), _alone(one)).series
    parts = found[0].parts if found else None
    steps = [step for step in (lost, parts) if step is not None]
    return min(steps) if steps else None


def _alone(one: Examined) -> Run:
    return Run(one.trial.id, Header("made"), {"loss/train": one.loss})


def _spread(ends: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """How far the ends of plain runs lie apart, for the training and the validation loss: standard deviations."""
    columns = [[end[side] for end in ends if math.isfinite(end[side])] for side in (0, 1)]
    train, val = (max(statistics.stdev(c) if len(c) > 1 else 0.0, _FLOOR * abs(statistics.median(c)) if c else 0.0) for c in columns)
    return train, val


def _alike(ends: tuple[float, float], twin: tuple[float, float], spread: tuple[float, float]) -> bool:
    # NaN is never within: a run whose loss is lost had an effect. A loss that neither has says nothing.
    pairs = [(a, b, s) for a, b, s in zip(ends, twin, spread, strict=True) if not (math.isnan(a) and math.isnan(b))]
    return bool(pairs) and all(abs(a - b) <= _NOISE * s for a, b, s in pairs)
