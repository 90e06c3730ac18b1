"""What a kind of configuration file is: something that finds its values and can put others in their places."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import NamedTuple

Value = float | str | bool
Path = tuple[str, ...]


class Spot(NamedTuple):
    """A value in a file: the keys that lead to it, the text that it is written as, and where that stands."""

    path: Path
    raw: str
    start: int
    end: int

    @property
    def key(self) -> str:
        """The last key, as settings are compared by: lower case, with underscores."""
        return self.path[-1].lower().replace("-", "_")


class Pair(NamedTuple):
    """A key that a file gets in addition, with its value: in front of the key at ``beside``, in the same table."""

    beside: Path
    key: str
    value: bool | Mapping[str, bool]


class Kind(ABC):
    """One kind of file. A module in ``formats/`` takes part by having a ``KIND``."""

    suffixes: Sequence[str]
    """how its files end, with the dot."""

    @abstractmethod
    def spots(self, text: str) -> list[Spot]:
        """Every plain value in the text, in its order. Raises ``ValueError`` with a reason where the text is none of its kind."""

    @abstractmethod
    def spelled(self, value: Value, raw: str) -> str:
        """A value as this kind of file spells it; ``raw`` is what stands there now."""

    @abstractmethod
    def added(self, text: str, pair: Pair) -> str:
        """The text with one more key, and every other letter as it was."""

    def replaced(self, text: str, values: Mapping[Spot, Value]) -> str:
        """The text with other values at some spots, and every other letter as it was."""
        for spot in sorted(values, key=lambda one: one.start, reverse=True):
            text = text[: spot.start] + self.spelled(values[spot], spot.raw) + text[spot.end :]
        return text


def number(value: float) -> str:
    """A number that JSON, TOML and every YAML reader take for one: YAML 1.1 wants a point in front of an exponent."""
    text = repr(value)
    mantissa, e, exponent = text.partition("e")
    return f"{mantissa}.0e{exponent}" if e and "." not in mantissa else text
