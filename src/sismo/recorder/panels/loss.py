"""Panel 1, the loss: ``loss/train``, ``loss/val``, ``loss_class/CLASS``, ``loss_term/TERM``, ``loss_val/SET``.

Formula: the scalar that was given to ``Recorder.step``, unchanged. Cost: nothing; a tensor is not read in the step that made it.
Source: the user's own panel 1. A loss that is no scalar is averaged, with a warning; one that is not finite is recorded as it is.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import ClassVar

from sismo.recorder.panel import Job, Panel
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
        self._finite = True
        self._told = False

    def jobs(self) -> Sequence[Job]:
        return ()

    def arm(self, parts: Collection[str]) -> None:
        pass

    def on_step(self, loss: object, more: Mapping[str, object]) -> None:
        """Takes the loss and everything that was given by name beside it."""
        self._add(LOSS_TRAIN, loss)
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
        if said is not None and channel not in self._warned:
            self._warned.add(channel)
            log.warning("%s", said)


PANEL = LossPanel
