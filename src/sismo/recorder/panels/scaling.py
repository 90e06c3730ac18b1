"""Panel 7, mixed precision: ``loss_scale``, ``skipped``, and an event for every overflow.

Formula: the scale of the ``GradScaler`` after its update; ``skipped`` counts the optimizer steps that it left out since the last row.
That a step was skipped is known without reading anything from the device: the optimizer was never called, or, a fused one, holds the
scaler's flag. Cost: one scalar. Source:
stability tree, S3.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import ClassVar

from torch import Tensor
from torch.optim import Optimizer

from sismo.recorder import scaled
from sismo.recorder.draft import Job
from sismo.recorder.panel import Panel
from sismo.recorder.scene import Scene
from sismo.records.channels import LOSS_SCALE
from sismo.records.types import Event


class ScalingPanel(Panel):
    """What dynamic loss scaling does."""

    name: ClassVar[str] = "scaling"

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self._skipped: float | Tensor = 0
        self._scale: float | None = None

    def jobs(self) -> Sequence[Job]:
        return ()

    def arm(self, parts: Collection[str]) -> None:
        pass

    def on_skipped(self, optimizer: Optimizer) -> None:
        """The scaler found an overflow and left this step out."""
        self._skipped = self._skipped + 1
        self._begin()

    def _begin(self) -> None:
        if self._scale is None:
            self._scale = float(self.scene.scaler._init_scale)

    def on_after_update(self, optimizer: Optimizer) -> None:
        """A fused optimizer leaves a step out by itself."""
        found = scaled.overflow(optimizer)
        if found is not None:
            self._skipped = self._skipped + (found.detach().reshape(()) > 0).float()
            self._begin()

    def on_step(self, loss: object, more: object) -> None:
        """The scale as the next step will use it."""
        scaler = self.scene.scaler
        if scaler is None:
            return
        scale = scaler._scale
        self.scene.draft.add(LOSS_SCALE, float(scaler._init_scale) if scale is None else scale.clone())
        self.scene.draft.add("skipped", self._skipped)
        self._skipped = 0

    def landed(self, step: int, values: dict[str, float]) -> Sequence[Event]:
        scale = values.get(LOSS_SCALE)
        if scale is None:
            return ()
        before, self._scale = self._scale, scale
        if not values.get("skipped"):
            return ()
        return [
            Event(step, "overflow", {"scale_before": before, "scale_after": scale}),
            Event(step, "skipped_step", {"count": int(values["skipped"])}),
        ]


PANEL = ScalingPanel
