"""Panel 1, the loss: ``loss/train``, ``loss/val``, ``loss_class/CLASS``, ``loss_term/TERM``, ``loss_val/SET``.

Formula: the scalar that was given to ``Recorder.step``, unchanged; where that is None, the sum of what backward was called on since the
last step, with the loss scale divided out. Cost: nothing; a tensor is not read in the step that made it. Source: the user's own panel 1.
A loss that is no scalar is averaged, with a warning; one that is not finite is recorded as it is.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import ClassVar

from torch import Tensor

from sismo.recorder.draft import Job
from sismo.recorder.local import local
from sismo.recorder.panel import Panel
from sismo.recorder.scene import Scene
from sismo.recorder.shield import log
from sismo.records.channels import LOSS_TRAIN, LOSS_VAL
from sismo.records.types import Event


class LossPanel(Panel):
    """What the loop says about its loss."""

    name: ClassVar[str] = "loss"
    everywhere: ClassVar[bool] = True

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self._warned: set[str] = set()
        self._parts: list[Tensor] = []
        self._finite = True
        self._told = False

    def jobs(self) -> Sequence[Job]:
        return ()

    def arm(self, parts: Collection[str]) -> None:
        pass

    def on_backward(self, loss: Tensor, by: Tensor | None) -> None:
        """Keeps the number: the graph goes as the loop lets go of it."""
        number = loss.detach()
        self._parts.append(number if by is None else number / by)

    def on_step(self, loss: object, more: Mapping[str, object]) -> None:
        """Takes the loss and everything that was given by name beside it."""
        parts, self._parts = self._parts, []
        if loss is None and not parts:
            self._say(LOSS_TRAIN, "rec.step was given no loss, and backward was called on none since the last step: give it the loss")
        self._add(LOSS_TRAIN, sum(local(part).reshape(()) for part in parts) if loss is None and parts else loss)
        for family, value in more.items():
            if value is None:
                continue
            if isinstance(value, Mapping):
                for member, one in value.items():
                    self._add(f"{family}/{member}", one)
            else:
                self._add(LOSS_VAL if family == "loss_val" else family, value)

    def landed(self, step: int, values: dict[str, float]) -> Sequence[Event]:
        loss = values.get(LOSS_TRAIN)
        was, self._finite = self._finite, loss is None or math.isfinite(loss)
        if was and not self._finite:
            if not self._told:  # a loss may be lost and found a hundred times; the events have each of them
                log.warning("the loss is %s at step %d", loss, step)
            self._told = True
            return [Event(step, "nonfinite", {"channel": LOSS_TRAIN, "value": str(loss)})]
        return ()

    def _add(self, channel: str, value: object) -> None:
        said = self.scene.draft.offer(channel, value)
        if said is not None:
            self._say(channel, said)

    def _say(self, channel: str, said: str) -> None:
        if channel not in self._warned:
            self._warned.add(channel)
            log.warning("%s", said)


PANEL = LossPanel
