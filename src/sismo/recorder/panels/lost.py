"""Panel 3, the weights where the gradient is lost: ``weight_nonfinite/BLOCK``, how many of its weights are not finite before the update.

Formula: the number of entries that are NaN or infinite, at a step whose gradient in the last vector of the model (a bias, or a matrix
where there is none) is not finite: a lost loss loses that gradient, and after the update every weight is lost, so that only this moment
tells a weight that was bad already. On the CPU alone: on an accelerator asking whether the gradient is lost would wait for it. Cost: a
look at that vector at every step, and one pass over the weights at the steps that are lost, twenty at the most. Source: the catalogue,
nonfinite-weight.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import ClassVar

import torch
from torch.optim import Optimizer

from sismo.recorder.draft import Job
from sismo.recorder.panel import Panel
from sismo.recorder.scene import Scene, Weight
from sismo.recorder.sound import sound
from sismo.records.types import Event

_MOST = 20


class LostPanel(Panel):
    """What the weights are like at the steps that lose the gradient."""

    name: ClassVar[str] = "lost"

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self._left = _MOST
        self._known: Sequence[Weight] = ()
        self._watched: Weight | None = None

    def jobs(self) -> Sequence[Job]:
        return ()

    def arm(self, parts: Collection[str]) -> None:
        pass

    def on_before_update(self, optimizer: Optimizer) -> None:
        """Gradients are final; the weights are still those of the forward pass."""
        watched = self._watch()
        if not self._left or watched is None or watched.optimizer is not optimizer:
            return
        gradient = watched.tensor.grad
        if gradient is None or sound(gradient):
            return
        self._left -= 1
        bad: Counter[str] = Counter(dict.fromkeys(self.scene.block_names, 0))
        for weight in self.scene.weights:
            bad[weight.block] += weight.tensor.numel() - int(torch.count_nonzero(weight.tensor.detach().isfinite()).numpy())
        for block, count in bad.items():
            self.scene.draft.add(f"weight_nonfinite/{block}", count)

    def _watch(self) -> Weight | None:
        """The vector that is looked at, None where nothing is trained or the weights are elsewhere; weights may come later."""
        weights = self.scene.weights
        if len(weights) != len(self._known):
            self._known = tuple(weights)
            near = bool(weights) and not self.scene.sharded and all(weight.tensor.device.type == "cpu" for weight in weights)
            self._watched = [*weights, *(weight for weight in weights if weight.tensor.ndim == 1)][-1] if near else None
        return self._watched

    def landed(self, step: int, values: dict[str, float]) -> Sequence[Event]:
        return ()


PANEL = LostPanel
