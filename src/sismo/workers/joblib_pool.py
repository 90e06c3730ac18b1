"""Workers that are processes of this machine."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

from joblib import Parallel, delayed
from joblib.externals.loky.process_executor import TerminatedWorkerError

from sismo.workers.types import Done, Result, Task, Workers, cores

_LOST = "the process that worked on it was killed (out of memory?)"


class JoblibPool(Workers):
    """So many processes; with one, the work is done in this very process."""

    def __init__(self, jobs: int | None = None) -> None:
        self.count = cores() if jobs is None else jobs

    def map(self, function: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[Done[Task, Result]]:
        left = dict(enumerate(tasks))
        try:
            yield from self._run(function, left, self.count)
        except TerminatedWorkerError:
            # Which task it was is not told. Those that were in hand are among the first that are left: each gets a process to itself.
            for number in list(left)[: 2 * self.count]:
                yield from self._alone(function, left, number)
            yield from self.map(function, list(left.values()))

    def _run(self, function: Callable[[Task], Result], left: dict[int, Task], jobs: int) -> Iterator[Done[Task, Result]]:
        """Does what is left, and takes off it what is over."""
        quiet: dict[str, Any] = {"initializer": _deaf} if jobs > 1 else {}
        pool = Parallel(n_jobs=jobs, return_as="generator_unordered", pre_dispatch="2*n_jobs", **quiet)
        calls = [delayed(_numbered)(function, number, task) for number, task in left.items()]
        for number, result in cast("Iterator[tuple[int, Result]]", pool(calls)):
            yield Done(left.pop(number), result)

    def _alone(self, function: Callable[[Task], Result], left: dict[int, Task], number: int) -> Iterator[Done[Task, Result]]:
        one = {number: left.pop(number)}
        try:
            # Two processes for one task: with one it would be this process that dies.
            yield from self._run(function, one, 2)
        except TerminatedWorkerError:
            yield Done(one[number], None, _LOST)


def _deaf() -> None:
    """Ctrl-C goes to every process of a terminal; it is for the one that hired the others, which then ends them."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _numbered(function: Callable[[Task], Result], number: int, task: Task) -> tuple[int, Result]:
    return number, function(task)
