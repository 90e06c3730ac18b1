"""What the log of a trainer is here: how it writes rows, and what of them a reader can know."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

PER_EPOCH = 100
"""Steps in an epoch, for trainers that count within one."""


class Row(NamedTuple):
    """One step (or epoch) as the training loop knows it; ``val`` where it was evaluated."""

    step: int
    loss: float
    lr: float = 3e-4
    norm: float = 1.0
    val: float | None = None


class Trainer(NamedTuple):
    """One trainer.

    Attributes:
        name: kebab-case. file: what its log is called. write: the lines of the log.
        first, every: the steps that it logs. rtol: how finely it prints. has: channels that its log carries.
    """

    name: str
    file: str
    write: Callable[[Sequence[Row]], Iterable[str]]
    first: int
    every: int
    rtol: float
    has: frozenset[str]

    def rows(self, count: int) -> list[Row]:
        """A healthy descent at the steps of this trainer, evaluated every tenth row."""
        return [descent(self.first + at * self.every, at) for at in range(count)]

    def text(self, rows: Sequence[Row]) -> str:
        """The whole log."""
        return "\n".join(self.write(rows)) + "\n"


ALL: dict[str, Trainer] = {}


def trainer(
    name: str, file: str = "train.log", *, first: int = 1, every: int = 1, rtol: float = 1e-3, has: str = "loss/train lr/0 grad_norm/pre"
) -> Callable[[Callable[[Sequence[Row]], Iterator[str]]], Callable[[Sequence[Row]], Iterator[str]]]:
    """Registers a writer as the log of a trainer; ``has`` is what can be read back."""

    def register(write: Callable[[Sequence[Row]], Iterator[str]]) -> Callable[[Sequence[Row]], Iterator[str]]:
        ALL[name] = Trainer(name, file, write, first, every, rtol, frozenset(has.split()))
        return write

    return register


def descent(step: int, at: int) -> Row:
    """A row of a healthy run: irregular, falling, positive, never the same number twice."""
    loss = 1.5 + 5 * math.exp(-at / 9) + 0.03 * math.sin(7 * at)
    lr = 3e-4 * min(1.0, (at + 1) / 5)
    norm = 0.8 + 2 * math.exp(-at / 12) + 0.05 * math.cos(3 * at)
    return Row(step, round(loss, 4), lr, round(norm, 3), round(loss + 0.1, 4) if at % 10 == 9 else None)


def python_dict(**values: object) -> str:
    """What ``print({...})`` prints."""
    return str(values)


def bar(done: int, total: int, post: str, head: str = "") -> str:
    """A bar of tqdm."""
    filled = min(10, 10 * done // max(1, total))
    drawn = f"{100 * done // max(1, total):3d}%|{'█' * filled}{' ' * (10 - filled)}|"
    return f"\r{head}{drawn} {done}/{total} [00:{done % 60:02d}<00:45,  1.98it/s{post}]"
