"""From a draft to what somebody's logger would have kept of it: columns, interval, rounding, a header."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sismo.lab.drawn.draft import Array, Draft
from sismo.records.types import Header, Run, Series

Index = NDArray[np.int64]

_INTERVALS = (1, 1, 1, 10)
_DIGITS = 6


@dataclass(frozen=True, slots=True)
class Logger:
    """How a run is logged.

    Attributes:
        interval: steps between rows. average: the loss of a row is the mean since the last one (HF, Megatron) instead of that step's.
        val_every: steps between evaluations, 0 for none.
        lr, norm, scale: whether the column is there. vocab: whether the number of classes is known.
        offset: number of the first step, 0 or 1. digits: significant digits of a value.
        anchor: a step that must have a row of its own (the rows are shifted so that it does).
    """

    interval: int = 1
    average: bool = False
    val_every: int = 0
    lr: bool = True
    norm: bool = True
    scale: bool = True
    vocab: bool = True
    offset: int = 0
    digits: int = _DIGITS
    anchor: int | None = None


def any_logger(rng: np.random.Generator, *, needs: tuple[str, ...] = ()) -> Logger:
    """A logger as they come: one run in four every 10 steps, one in six without ``lr`` or ``norm`` unless the fault needs it."""
    interval = int(rng.choice(_INTERVALS))
    return Logger(
        interval=interval,
        average=interval > 1 and bool(rng.random() < 0.5),
        val_every=int(rng.choice([0, 100, 200, 250])),
        lr="lr" in needs or bool(rng.random() < 5 / 6),
        norm="norm" in needs or bool(rng.random() < 5 / 6),
        vocab="vocab" in needs or bool(rng.random() < 0.5),
        offset=int(rng.integers(2)),
    )


def logged(draft: Draft, logger: Logger, *, name: str, header: Header | None = None) -> Run:
    """The run as the log has it."""
    step = _steps(draft.steps, logger)
    loss = _averages(draft.loss, step, logger.interval) if logger.average else draft.loss[step]
    columns: dict[str, tuple[Index, Array]] = {"loss/train": (step, loss)}
    if logger.lr:
        columns["lr/0"] = (step, draft.lr[step])
    if logger.norm:
        columns["grad_norm/pre"] = (step, draft.norm[step])
    if logger.scale and draft.scale is not None:
        columns["loss_scale"] = (step, draft.scale[step])
    if logger.val_every:
        at = np.arange(logger.val_every, draft.steps, logger.val_every, dtype=np.int64)
        jitter = draft.rng.normal(0, draft.sigma / 5, at.size)
        columns["loss/val"] = (at, draft.trend[at] + draft.gap[at] + jitter)
    series = {channel: Series(channel, at + logger.offset, _rounded(values, logger.digits)) for channel, (at, values) in columns.items()}
    known = header or Header(source="lab")
    return Run(
        path=f"lab:{name}",
        header=known._replace(
            name=name,
            vocab_size=draft.vocab if logger.vocab else None,
            dtype=draft.dtype,
            total_steps=draft.planned,
        ),
        series=series,
    )


def _steps(total: int, logger: Logger) -> Index:
    first = logger.anchor % logger.interval if logger.anchor is not None else (logger.interval - 1 if logger.average else 0)
    return np.arange(first, total, logger.interval, dtype=np.int64)


def _averages(values: Array, step: Index, interval: int) -> Array:
    return np.array([values[max(0, s - interval + 1) : s + 1].mean() for s in step])


def _rounded(values: Array, digits: int) -> Array:
    """Each value as it reads back from a text with so many significant digits."""
    return np.array([float(f"{value:.{digits}g}") for value in values])
