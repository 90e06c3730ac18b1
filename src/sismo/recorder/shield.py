"""Training never pays for a fault in sismo: the first exception is logged, recording stops, the loop goes on."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch

from sismo.recorder import clock

log = logging.getLogger("sismo.recorder")


class Shield:
    """Runs sismo's own code so that nothing gets out of it, without gradients and without autocast, and counts the seconds.

    Attributes:
        alive: False from the first exception on. autocast: the dtype of autocast, where it was on outside.
    """

    def __init__(self, stop: Callable[[BaseException], None]) -> None:
        self._stop = stop
        self._depth = 0
        self._seconds = 0.0
        self._began = 0.0
        self.alive = True
        self.autocast: torch.dtype | None = None

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """The body must begin with a look at ``alive``; an exception in it turns recording off and goes no further."""
        outermost = self._depth == 0
        self._depth += 1
        if outermost:
            self._began = clock.seconds()
        try:
            with torch.no_grad(), self._without_autocast():
                yield
        except Exception as error:
            self.fail(error)
        finally:
            self._depth -= 1
            if outermost:
                self._seconds += clock.seconds() - self._began

    def elapsed(self) -> float:
        """Seconds spent since the last call of this."""
        now = clock.seconds()
        total = self._seconds + (now - self._began if self._depth else 0.0)
        self._seconds, self._began = 0.0, now
        return total

    @contextmanager
    def asleep(self) -> Iterator[None]:
        """What runs in here is sismo's own experiment: no hook records it."""
        was, self.alive = self.alive, False
        try:
            yield
        finally:
            self.alive = was

    def leave_out(self, seconds: float) -> None:
        """Does not count seconds that went into something that the loop asked for."""
        self._began += seconds

    def fail(self, error: Exception) -> None:
        """Turns recording off for good."""
        if not self.alive:
            return
        self.alive = False
        if isinstance(error, OSError):  # a full disk, a folder that may not be written: nothing to report
            log.warning("sismo stopped recording; training goes on: %s", error)
        else:
            log.warning("sismo stopped recording; training goes on. Please report this.", exc_info=error)
        try:
            self._stop(error)
        except Exception:
            log.debug("sismo could not put everything away", exc_info=True)

    @contextmanager
    def _without_autocast(self) -> Iterator[None]:
        """Autocast keeps a cache of cast weights, which must not see what is measured here."""
        kinds = [kind for kind in ("cpu", "cuda") if torch.is_autocast_enabled(kind)]
        for kind in kinds:
            self.autocast = torch.get_autocast_dtype(kind)
            torch.set_autocast_enabled(kind, False)
        try:
            yield
        finally:
            for kind in kinds:
                torch.set_autocast_enabled(kind, True)
