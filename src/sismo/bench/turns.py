"""The clock of a training loop that takes turns with others, and is run several times.

It stands still while others have their turn: a recorder must not take their time for that of its own steps. And it keeps on a tape what
it showed: how much a recorder measures at which step hangs on the clock alone, so that a loop which is shown the same times again does
the same work at the same steps. What a step costs is then the least of several passes, and what another process did meanwhile is gone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from sismo.recorder import clock


class Time:
    """What one loop is shown; seconds.

    Arguments:
        raw: the clock behind it. tape: what an earlier pass of the same loop was shown, and this one is shown as well.
    """

    def __init__(self, raw: Callable[[], float], tape: Sequence[float] | None = None) -> None:
        self._raw, self._played = raw, tape
        self._before = self._began = 0.0
        self._reads = 0
        self.tape: list[float] = []

    def __call__(self) -> float:
        at, self._reads = self._reads, self._reads + 1
        if self._played is not None:
            return self._played[min(at, len(self._played) - 1)]
        self.tape.append(self._before + self._raw() - self._began)
        return self.tape[-1]

    @contextmanager
    def turn(self) -> Iterator[None]:
        """In here it is the recorder's clock, and goes on from where it stood."""
        was, clock.seconds = clock.seconds, self
        self._began = self._raw()
        yield
        self._before += self._raw() - self._began
        clock.seconds = was

    def check(self) -> None:
        """Raises ``RuntimeError`` where this pass did not read the clock as often as the first: it did other work."""
        if self._played is not None and self._reads != len(self._played):
            raise RuntimeError(
                f"a pass read the clock {self._reads} times, the first one {len(self._played)} times: they cannot be compared"
            )
