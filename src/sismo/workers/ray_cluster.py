"""Workers of a Ray cluster."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from sismo.errors import MissingExtra, UsageError
from sismo.workers.types import Done, Result, Task, Workers, cores

try:
    import ray
    from ray.exceptions import NodeDiedError, OutOfMemoryError, RayTaskError, WorkerCrashedError
except ImportError as error:
    raise MissingExtra("working on a Ray cluster", "ray") from error

LOCAL = "local"
"""The address that stands for a cluster of this machine, started for the job and ended with it."""

_TRIES_AGAIN = 2
"""How often Ray repeats a task whose worker died before it is given up."""
_AHEAD = 2
"""Tasks in hand for each core of the cluster: the next one is there when a worker is done with its own."""


class RayCluster(Workers):
    """The cores of a cluster. sismo of the same version must be installed on its machines, and what tasks name must be there as well."""

    def __init__(self, address: str, jobs: int | None = None) -> None:
        self._address, self._jobs = address, jobs
        self.count = jobs or cores()

    def map(self, function: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[Done[Task, Result]]:
        if not tasks:
            return  # a cluster takes seconds to answer
        with _connected(self._address, self._jobs):
            work: Any = ray.remote(max_retries=_TRIES_AGAIN, num_cpus=1)(function)
            rest = iter(tasks)
            waiting: dict[Any, Task] = {}
            while True:
                for task in rest:
                    waiting[work.remote(task)] = task
                    if len(waiting) >= _AHEAD * self._slots():
                        break
                if not waiting:
                    return
                ready, _ = ray.wait(list(waiting))
                for reference in ready:
                    yield _outcome(waiting.pop(reference), reference)

    def _slots(self) -> int:
        # Asked each time: machines come and go.
        found = max(1, int(ray.cluster_resources().get("CPU", 1)))
        return found if self._jobs is None else min(found, self._jobs)


def _outcome(task: Task, reference: Any) -> Done[Task, Any]:
    try:
        return Done(task, ray.get(reference))
    except (WorkerCrashedError, NodeDiedError, OutOfMemoryError) as error:
        return Done(task, None, f"the worker died {_TRIES_AGAIN + 1} times ({str(error).splitlines()[0]})")
    except RayTaskError as error:
        raise error.as_instanceof_cause() from None


@contextlib.contextmanager
def _connected(address: str, jobs: int | None) -> Iterator[None]:
    """A connection for the length of a job. Raises ``UsageError`` when there is no cluster at the address."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    quiet: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False, "include_dashboard": False}
    try:
        if address == LOCAL:
            # Ray gives way to everything else on a machine by default; whoever asks for workers here wants them to work.
            os.environ.setdefault("RAY_worker_niceness", "0")
            ray.init(num_cpus=jobs, **quiet)
        else:
            ray.init(address, logging_level=logging.ERROR, log_to_driver=False)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise UsageError(f"no Ray cluster answers at {address} ({str(error).splitlines()[0]})") from None
    try:
        yield
    finally:
        ray.shutdown()
