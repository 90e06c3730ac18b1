"""What a detector says and what it is made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from sismo.records.types import NOTHING

if TYPE_CHECKING:
    from sismo.signals.view import View


class State(StrEnum):
    """Three-valued: UNKNOWN is not ABSENT. Absent means it was looked for, with enough data, and is not there."""

    PRESENT = "present"
    ABSENT = "absent"
    UNKNOWN = "unknown"


class Threshold(NamedTuple):
    """A number that a rule compares with, by name.

    Attributes:
        name: kebab-case, unique (``spike-sigma``).
        robust: value in the default preset. literal: value in the preset that reads the user's document to the letter.
        unit: unit of the number. source: where it comes from. about: what it decides, one sentence.
    """

    name: str
    robust: float
    literal: float
    unit: str
    source: str
    about: str


class Observation(NamedTuple):
    """What one detector saw.

    Attributes:
        signal: id of the detector's signal; filled in by the registry.
        state: present, absent or unknown.
        start, end: first and last step of what was seen; None where it has no place in time.
        strength: 0 to 1, how clearly it is there (1 for a plain fact).
        channel: the series that it was seen in.
        numbers: what fills the detector's sentences.
        missing: for UNKNOWN: what was not there to look at (``grad_norm/pre``), as a channel or a few words.
    """

    state: State
    start: int | None = None
    end: int | None = None
    strength: float = 1.0
    channel: str = ""
    numbers: Mapping[str, object] = NOTHING
    missing: str = ""
    signal: str = ""

    @property
    def by_probe(self) -> bool:
        """Whether an experiment says so, and not what was logged."""
        return "probe" in self.numbers

    @property
    def denies(self) -> bool:
        """Whether an experiment has looked for it and never found any."""
        return self.state is State.ABSENT and self.numbers.get("denies") is True


def present(
    start: int | None = None, end: int | None = None, *, strength: float = 1.0, channel: str = "", **numbers: object
) -> Observation:
    """It is there."""
    return Observation(State.PRESENT, start, end if end is not None else start, strength, channel, numbers)


def absent(channel: str = "", **numbers: object) -> Observation:
    """It was looked for, in enough data, and is not there."""
    return Observation(State.ABSENT, channel=channel, numbers=numbers)


def unknown(missing: str, **numbers: object) -> Observation:
    """It could not be looked for; ``missing`` says what would have been needed."""
    return Observation(State.UNKNOWN, missing=missing, numbers=numbers)


class Detector(NamedTuple):
    """One signal: the question that it asks of the numbers, and the sentences that it answers with.

    Attributes:
        id: kebab-case, stable; nodes and causes refer to it.
        reads: the channels (or families) that it needs.
        look: the function that answers. It gets a ``View`` and never raises for odd data.
        present, absent: sentence templates filled from ``Observation.numbers`` plus ``start``, ``end``, ``channel``.
        how: what to do to get the missing piece, when the answer is unknown.
        thresholds: the numbers that the rule uses.
        live: whether it has a meaning before a run ends (the recorder and the guard use only these).
    """

    id: str
    reads: tuple[str, ...]
    look: Callable[[View], Observation]
    present: str
    absent: str
    how: str = ""
    thresholds: tuple[Threshold, ...] = ()
    live: bool = False
