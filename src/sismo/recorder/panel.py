"""What a panel is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import ClassVar

from sismo.recorder import clock
from sismo.recorder.draft import Job
from sismo.recorder.scene import Scene
from sismo.records.types import Event


class Panel(ABC):
    """One kind of measurement. Subclasses are final, lie in ``panels/`` and define the ``on_...`` methods of the moments that they need.

    The docstring of each states the formula, what it costs and where it comes from.
    """

    name: ClassVar[str]
    everywhere: ClassVar[bool] = False
    """Whether every rank is asked and not rank 0 alone. Where tensors are sharded, all panels are."""

    of_weights: ClassVar[bool] = False
    """Whether it is made anew when other weights are trained: what an optimizer is given later, or is thawed."""

    of_modules: ClassVar[bool] = False
    """Whether it looks at what modules are given or return, and is made anew when it turns out that there must be no hooks on them."""

    at_once: ClassVar[bool] = True
    """Whether its first measurement belongs into the first step; else into those after it, a little in each."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene

    @abstractmethod
    def jobs(self) -> Sequence[Job]:
        """The work that may be spread over steps; empty when the panel does all of its work at every step."""

    @property
    def first(self) -> bool:
        """Whether its jobs come before all others when time is short."""
        return False

    @abstractmethod
    def arm(self, parts: Collection[str]) -> None:
        """Gets ready for a step in which these parts of its jobs are to be done; lets go of what was set up for the last one."""

    @abstractmethod
    def landed(self, step: int, values: dict[str, float]) -> Sequence[Event]:
        """Sees the finished row of a step, oldest first: may add to it, and says what happened."""

    @contextmanager
    def timed(self, part: str) -> Iterator[None]:
        """Books the time of the body on a job."""
        began = clock.seconds()
        yield
        job = Job(self.name, part)
        self.scene.draft.spent[job] = self.scene.draft.spent.get(job, 0.0) + clock.seconds() - began
