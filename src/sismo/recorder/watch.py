"""Looks for trouble while the run goes on, with the live detectors of ``signals``, so that the recorder can go to full detail by itself."""

from __future__ import annotations

import math
from collections.abc import Mapping

from sismo.records.channels import GRAD_NORM_PRE, LOSS_SCALE, LOSS_TRAIN, LR
from sismo.records.types import Event, Header
from sismo.signals.presets import preset
from sismo.signals.registry import detectors
from sismo.signals.types import State
from sismo.signals.view import View

WINDOW = 20
"""Steps of full detail."""
PAUSE = 200
"""Steps before the next window: a run that stays in trouble is not recorded in full for ever."""
EVERY = 10
"""Rows between two looks; a value that is not finite is seen at once."""
ROWS = 1000
"""Rows that are remembered: enough for the windows of the detectors, and little enough that memory stays flat."""
_CHANNELS = (LOSS_TRAIN, GRAD_NORM_PRE, LOSS_SCALE, LR)
_TROUBLE = ("loss-spike", "loss-scale-collapsed", "grad-norm-nonfinite", "loss-exactly-zero")


class Watch:
    """The last rows of a run, and what the live detectors say about them."""

    def __init__(self, header: Header) -> None:
        self._header = header
        self._limits = preset().values
        self._looks = [detectors()[name] for name in _TROUBLE if name in detectors() and detectors()[name].live]
        self._rows: list[tuple[int, dict[str, float]]] = []
        self._view = View(self._limits, header)
        self._reported: set[tuple[str, int | None]] = set()
        self._finite = True
        self.until = -1
        self.quiet_since = 0

    def full(self, step: int) -> bool:
        """Whether everything is measured at this step."""
        return step < self.until

    def healthy_for(self, step: int) -> int:
        """Steps since the last trouble."""
        return step - self.quiet_since

    def see(self, step: int, values: Mapping[str, float]) -> list[Event]:
        """Takes a finished row. Returns an event when a window of full detail begins."""
        row = {channel: values[channel] for channel in _CHANNELS if channel in values}
        if not row or (self._rows and step <= self._rows[-1][0]):
            return []
        self._rows.append((step, row))
        self._view.update(step, row)
        if len(self._rows) > 2 * ROWS:
            self._forget()
        was, self._finite = self._finite, all(math.isfinite(value) for value in row.values())
        trouble = ("not finite", step) if not self._finite else None
        if not self._finite:
            self.quiet_since = step + 1
        if (was and trouble) or (self._finite and len(self._rows) % EVERY == 0 and (trouble := self._found(step))):
            self.quiet_since = step + 1
            if step >= self.until + PAUSE or self.until < 0:
                self.until = step + 1 + WINDOW
                reason, since = trouble
                return [Event(step, "zoom", {"reason": reason, "since": since, "until": self.until})]
        return []

    def _found(self, step: int) -> tuple[str, int] | None:
        """What is wrong, and since which step."""
        for detector in self._looks:
            seen = detector.look(self._view)
            if seen.state is State.PRESENT and (detector.id, seen.start) not in self._reported:
                self._reported.add((detector.id, seen.start))
                if seen.start is None or seen.start >= step - ROWS // 4:
                    return detector.id, step if seen.start is None else seen.start
        return None

    def _forget(self) -> None:
        self._rows = self._rows[-ROWS:]
        self._view = View(self._limits, self._header)
        for step, row in self._rows:
            self._view.update(step, row)
        self._reported = {(name, start) for name, start in self._reported if start is not None and start >= self._rows[0][0]}
