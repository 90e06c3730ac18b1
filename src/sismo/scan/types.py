"""One run as a line of a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from sismo.records.types import NOTHING

Scalar = str | int | float | bool
State = Literal["broken", "warning", "unjudged", "healthy", "unread"]

STATES: tuple[State, ...] = ("broken", "warning", "unjudged", "healthy", "unread")
"""From what needs attention to what does not, and what could not be read."""


class Row(NamedTuple):
    """What was found in one run; of one that could not be read only path, time and error are known.

    Attributes:
        path: file, folder or URL. name: which run of it, where it holds several. source: the format.
        healthy: True, False, or None where it could not be judged. severity: of the worst finding (``none``, ``note``, ``warning``,
            ``broken``). cause: id of the first cause at that level, empty without one. confidence: in it, 0 to 1.
        step: where it begins, in ``step_unit``. rows: of training loss.
        time: when the run was last written, POSIX seconds. status: ``running``, ``completed`` or ``crashed`` where that is known.
        error: why it could not be read, one line; empty otherwise. unrecognised: whether that is because it is no log at all.
        config: what the run was configured with, flat (``optimizer.lr``).
    """

    path: str
    name: str = ""
    source: str = ""
    healthy: bool | None = None
    severity: str = "none"
    cause: str = ""
    confidence: float | None = None
    step: int | None = None
    step_unit: str = "step"
    rows: int = 0
    time: float = 0.0
    status: str = ""
    error: str = ""
    unrecognised: bool = False
    config: Mapping[str, Scalar] = NOTHING  # pyright: ignore[reportAssignmentType] - an empty mapping of anything

    @property
    def state(self) -> State:
        """In one word, what the run needs."""
        if self.error:
            return "unread"
        if self.healthy is None:
            return "unjudged"
        return "healthy" if self.healthy else ("broken" if self.severity == "broken" else "warning")

    @property
    def fails(self) -> bool:
        """Whether something at warning or worse was found."""
        return self.healthy is False
