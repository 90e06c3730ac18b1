"""Training never pays for a fault in sismo: the first exception is logged, recording stops, the loop goes on."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType

import torch

from sismo.recorder import clock

log = logging.getLogger("sismo.recorder")


class _Here(threading.local):
    """What one thread was in when it came into the shield. Modes belong to threads, of which one may train while another evaluates."""

    def __init__(self) -> None:
        self.outside: list[tuple[bool, Sequence[str]]] = []
        self.began = 0.0


class Shield:
    """Runs sismo's own code so that nothing gets out of it, without gradients and without autocast, and counts the seconds.

    Attributes:
        alive: False from the first exception on. autocast: the dtype of autocast, where it was on outside.
    """

    def __init__(self, stop: Callable[[BaseException], None]) -> None:
        self._stop = stop
        self._here = _Here()
        self._seconds = 0.0
        self.alive = True
        self.autocast: torch.dtype | None = None

    def __enter__(self) -> None:
        """The body must begin with a look at ``alive``; an exception in it turns recording off and goes no further."""
        here = self._here
        if not here.outside:
            here.began = clock.seconds()
        # Plain calls: this stands round a dozen places of every step, where ``no_grad`` and generators would cost more than most bodies.
        # Autocast keeps a cache of cast weights, which must not see what is measured here.
        on = [device for device in ("cpu", "cuda") if torch.is_autocast_enabled(device)]
        here.outside.append((torch.is_grad_enabled(), on))
        try:
            for device in on:
                self.autocast = torch.get_autocast_dtype(device)
                torch.set_autocast_enabled(device, False)
            torch._C._set_grad_enabled(False)  # pyright: ignore[reportPrivateUsage]
        except BaseException:  # Ctrl-C between two of these lines
            self.__exit__(None, None, None)
            raise

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> bool:
        here = self._here
        grad, autocast = here.outside[-1]
        try:
            torch._C._set_grad_enabled(grad)  # pyright: ignore[reportPrivateUsage]
        finally:
            for device in autocast:
                torch.set_autocast_enabled(device, True)
            here.outside.pop()
        if isinstance(error, Exception):
            self.fail(error)
        if not here.outside:
            self._seconds += clock.seconds() - here.began
        return isinstance(error, Exception)

    def elapsed(self) -> float:
        """Seconds spent since the last call of this."""
        now = clock.seconds()
        total = self._seconds + (now - self._here.began if self._here.outside else 0.0)
        self._seconds, self._here.began = 0.0, now
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
        self._here.began += seconds

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
