"""What a run is: series, events, a header and notes on how it was read.

Three absences are kept apart all the way through: a value that the run logged as NaN (NaN in ``Series.values``), a step
that was not logged (absent from ``Series.steps``), and a channel that was never logged (absent from ``Run.series``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from sismo.records.numeric import median
from sismo.records.sentence import fill

Steps = NDArray[np.int64]
Values = NDArray[np.float64]

NOTHING: Mapping[str, object] = MappingProxyType({})
"""An empty mapping that cannot be filled: the default of every free-form field."""


@dataclass(frozen=True, eq=False)
class Series:
    """One channel of a run.

    Attributes:
        channel: canonical name, see ``channels``.
        steps: int64, strictly increasing.
        values: float64, same length; NaN and infinities are what the run logged.
        source_key: the name that the log used (``train/loss``), empty when it is the canonical one.
    """

    channel: str
    steps: Steps
    values: Values
    source_key: str = ""

    def __post_init__(self) -> None:
        if self.steps.shape != self.values.shape or self.steps.ndim != 1:
            raise ValueError(f"{self.channel}: steps {self.steps.shape} and values {self.values.shape} differ in shape")
        if self.steps.size > 1 and not bool(np.all(np.diff(self.steps) > 0)):
            raise ValueError(f"{self.channel}: steps must be strictly increasing")

    def __len__(self) -> int:
        return int(self.steps.size)

    @cached_property
    def interval(self) -> float:
        """Median number of steps between two rows; 1.0 with fewer than two rows."""
        return median(np.diff(self.steps)) if self.steps.size > 1 else 1.0

    def at(self, step: int) -> float | None:
        """The value logged at exactly this step, or None where nothing was logged."""
        position = int(np.searchsorted(self.steps, step))
        if position < self.steps.size and int(self.steps[position]) == step:
            return float(self.values[position])
        return None


class Event(NamedTuple):
    """Something that happened at a step rather than being measured at every one.

    ``kind`` is one of ``overflow`` (data: ``scale_before``, ``scale_after``), ``skipped_step``,
    ``resume`` (data: ``overlap`` rows logged again, ``marked`` in the log, ``replaced`` losses where no row before it is left),
    ``checkpoint``, ``nonfinite``, ``warning`` (data: ``tag``, ``line``), ``crash`` (data: ``line``), ``probe``, ``guard``.
    """

    step: int
    kind: str
    data: Mapping[str, object] = NOTHING


class Note(NamedTuple):
    """One remark on how a run was read: what was skipped, renamed, guessed or split.

    ``text`` is an English template; ``numbers`` fills it. ``code`` is stable and machine-readable.
    """

    code: str
    text: str
    numbers: Mapping[str, object] = NOTHING

    def __str__(self) -> str:
        return fill(self.text, self.numbers)


RECORDED = "sismo-run"
"""The source of a run that the recorder wrote."""


class Header(NamedTuple):
    """What is known about a run besides its numbers. None means not known, never a default.

    Attributes:
        source: the format it was read from (``hf-trainer-state``, ``sismo-run`` …).
        name: what to call the run when a file holds several.
        dtype: ``fp32``, ``fp16`` or ``bf16``.
        total_steps: steps that were planned. warmup_steps: warmup that was configured.
        checkpoint_every: steps between checkpoints. vocab_size: classes of the output.
        entropy: nats per target of the data, under which no honest model comes on held-out data.
        accumulation: micro-batches per optimizer step. clip: gradient clipping threshold.
        schedule: name of the configured LR schedule (``cosine``, ``linear``, ``constant`` …).
        step_unit: ``step`` or ``epoch``: what one unit of ``Series.steps`` is.
        objective: ``rl`` where the keys of the log show a reinforcement objective, ``gan`` for adversarial losses.
        status: ``running``, ``completed`` or ``crashed``.
        config: the rest, as the log had it.
    """

    source: str
    name: str = ""
    dtype: str | None = None
    total_steps: int | None = None
    warmup_steps: int | None = None
    checkpoint_every: int | None = None
    vocab_size: int | None = None
    entropy: float | None = None
    accumulation: int | None = None
    clip: float | None = None
    schedule: str | None = None
    step_unit: str = "step"
    objective: str | None = None
    status: str | None = None
    config: Mapping[str, object] = NOTHING

    def fact(self, name: str) -> object:
        """What the recorder wrote down about the run under a name; None where nothing was recorded."""
        facts = self.config.get("sismo")
        return cast("Mapping[str, object]", facts).get(name) if isinstance(facts, Mapping) else None


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """One training run, from whatever it was read.

    Attributes:
        path: where it came from, as the user wrote it.
        header: what is known besides the numbers.
        series: channel name to ``Series``; a channel that was never logged is not there.
        events: in order of step.
        notes: remarks on the reading.
    """

    path: str
    header: Header
    series: Mapping[str, Series]
    events: tuple[Event, ...] = ()
    notes: tuple[Note, ...] = ()

    def get(self, channel: str) -> Series | None:
        """The series of a channel, or None where it was never logged."""
        return self.series.get(channel)

    def family(self, family: str) -> Iterator[Series]:
        """All series of a family (``loss_term``, ``lr`` …), in the order of the log."""
        for name, series in self.series.items():
            if name.partition("/")[0] == family:
                yield series

    def events_of(self, kind: str) -> tuple[Event, ...]:
        """All events of a kind, in order of step."""
        return tuple(event for event in self.events if event.kind == kind)
