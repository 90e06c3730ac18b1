"""What every kind of workers promises."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Done(Generic[Task, Result]):
    """One task that is over.

    Attributes:
        task: what was asked. result: what came of it, None when it was lost.
        lost: why there is no result: the process that worked on it died each time it was tried. Empty otherwise.
    """

    task: Task
    result: Result | None
    lost: str = ""


class Workers(ABC):
    """Processes that do tasks. A worker that dies costs only the tasks that it was at, and those are tried again first."""

    count: int
    """how many there are, as far as is known before they start."""

    @abstractmethod
    def map(self, function: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[Done[Task, Result]]:
        """Does every task, and gives each as soon as it is over, in no order.

        What the function raises is raised here, and ends the work: expected failures belong into its result. Function, tasks and results
        are sent between processes, so they must be picklable. Leaving the loop early stops the workers.
        """


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
