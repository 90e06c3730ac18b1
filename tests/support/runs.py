"""Runs made by hand: ``run(loss=[...], lr=[...], events=(...), dtype="fp16")`` is one that any detector can look at."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sismo.records.channels import GRAD_NORM_PRE, LOSS_SCALE, LOSS_TRAIN, LOSS_VAL, LR
from sismo.records.types import Event, Header, Note, Run, Series
from sismo.signals import registry
from sismo.signals.presets import preset
from sismo.signals.types import Observation, State
from sismo.signals.view import View

Floats = NDArray[np.float64]
Rows = ArrayLike | Mapping[int, float] | tuple[ArrayLike, ArrayLike] | Series


def series(channel: str, rows: Rows, every: int = 1) -> Series:
    """A series from values (one every so many steps from 0), from a dict of step to value, or from ``(steps, values)``."""
    if isinstance(rows, Series):
        return rows
    if isinstance(rows, Mapping):
        steps, values = np.array(list(rows), dtype=np.int64), np.array(list(rows.values()), dtype=np.float64)
    elif isinstance(rows, tuple):
        steps, values = np.asarray(rows[0], dtype=np.int64), np.asarray(rows[1], dtype=np.float64)
    else:
        values = np.asarray(rows, dtype=np.float64)
        steps = np.arange(values.size, dtype=np.int64) * every
    return Series(channel, steps, values)


def run(
    loss: Rows | None = None,
    lr: Rows | None = None,
    norm: Rows | None = None,
    val: Rows | None = None,
    scale: Rows | None = None,
    *,
    more: Mapping[str, Rows] | None = None,
    events: Iterable[Event] = (),
    notes: Iterable[Note] = (),
    every: int = 1,
    **header: Any,
) -> Run:
    """A run of the channels that are given. ``more`` holds others by name, ``header`` what else is known (``dtype``, ``vocab_size`` …)."""
    named = {LOSS_TRAIN: loss, LR: lr, GRAD_NORM_PRE: norm, LOSS_VAL: val, LOSS_SCALE: scale, **(more or {})}
    found = {channel: series(channel, rows, every) for channel, rows in named.items() if rows is not None}
    return Run("made", Header(source="made", **header), found, tuple(events), tuple(notes))


def points(run: Run, channel: str) -> dict[int, float]:
    """The values of a channel by their steps."""
    series = run.series[channel]
    return dict(zip(series.steps.tolist(), series.values.tolist(), strict=True))


def event(step: int, kind: str, **data: object) -> Event:
    """Something that happened."""
    return Event(step, kind, data)


def observe(made: Run, limits: str = "robust") -> dict[str, Observation]:
    """What every detector says about a run."""
    return registry.observe(View.of(made, preset(limits).values))


def look(made: Run, signal: str, limits: str = "robust") -> Observation:
    """What one detector says about a run."""
    return registry.detectors()[signal].look(View.of(made, preset(limits).values))


def state(made: Run, signal: str, limits: str = "robust") -> State:
    """Whether a signal is there, in one word."""
    return look(made, signal, limits).state


def names(made: Run, limits: str = "robust") -> list[str]:
    """Ids of the causes that a run is diagnosed with, the first one first."""
    from sismo.judge import judge

    return [finding.cause.id for finding in judge(made, preset(limits)).findings]


def alarms(made: Run, limits: str = "robust") -> list[str]:
    """Ids of those causes that are more than a note."""
    from sismo.judge import judge

    return [finding.cause.id for finding in judge(made, preset(limits)).findings if finding.severity.rank >= 1]


def falling(rows: int = 400, seed: int = 0, noise: float = 0.03, start: float = 6.0, end: float = 2.0) -> Floats:
    """A loss that comes down and settles, in Gaussian noise: what a healthy run looks like."""
    step = np.arange(rows)
    return end + (start - end) * np.exp(-6.0 * step / rows) + noise * np.random.default_rng(seed).standard_normal(rows)


def level(rows: int = 400, at: float = 2.0, noise: float = 0.03, seed: int = 0) -> Floats:
    """A series that stands, in Gaussian noise."""
    return at + noise * np.random.default_rng(seed).standard_normal(rows)


def cosine(rows: int = 400, peak: float = 3e-4, warmup: int = 20) -> Floats:
    """A warmup and a cosine to 0.1 of the peak."""
    step = np.arange(rows, dtype=np.float64)
    decay = 0.1 + 0.45 * (1 + np.cos(np.pi * (step - warmup) / max(1, rows - warmup)))
    return peak * np.where(step < warmup, (step + 1) / warmup, decay)


def with_at(values: NDArray[np.floating[Any]], step: int, *put: float) -> Floats:
    """A copy with other values from a row on."""
    changed = values.astype(np.float64)
    changed[step : step + len(put)] = put
    return changed
