"""What the lab makes: a run together with the truth about it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from sismo.records.types import Run


class Noise(StrEnum):
    """How the batches of a synthetic run differ from each other."""

    GAUSSIAN = "gaussian"
    HEAVY = "heavy"

    @classmethod
    def of(cls, seed: int) -> Noise:
        """The noise that a bench uses for a seed: they take turns."""
        return cls.HEAVY if seed % 2 else cls.GAUSSIAN


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """One synthetic run and its truth.

    Attributes:
        run: what was logged.
        variant: which form of the fault or of the family this seed drew.
        expects: ids of the causes that count as right, the main one first; empty for a healthy run.
        step: where the fault begins, None for a healthy run.
    """

    run: Run
    variant: str
    expects: tuple[str, ...] = ()
    step: int | None = None


@dataclass(frozen=True, slots=True)
class Recipe:
    """How to make one fault or one healthy family.

    Attributes:
        id: name in tables; kebab-case.
        about: one sentence.
        make: ``make(seed, noise)``; the same arguments give the same run to the last bit.
    """

    id: str
    about: str
    make: Callable[[int, Noise], Sample]


@dataclass(frozen=True, slots=True)
class LogFormat:
    """A writer of one format.

    Attributes:
        id: name in tables. suffix: how its files end.
        carries: families of channels that the format has room for; what is not in it is lost, as in life.
        lines: the text of a run, line by line, without line ends.
    """

    id: str
    suffix: str
    carries: frozenset[str]
    lines: Callable[[Run], Iterator[str]]
