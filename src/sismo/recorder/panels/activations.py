"""Panel 4, activations: ``act_mean_abs``, ``act_max_abs``, ``act_nonfinite`` and ``act_near_limit`` of each layer.

Formulas, over all entries a of what a layer returned to the first micro-batch: mean |a|; max |a|; the number of NaN and infinite entries;
the share of finite entries with |a| over half of the largest number of their dtype (32752 in fp16). Layers: embeddings, the attention and
MLP output of each block, the final norm, the logits; whole blocks where nothing tells their parts. Cost: three passes over the output,
two more on an accelerator or where the largest entry calls for counting; layers take turns. Step 0 measures all of them: a bad init shows
there and nowhere else. Source: the user's own panel 4; half of the limit: Hugging Face's overflow study.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from typing import ClassVar

import torch
from torch import Tensor

from sismo.recorder import anatomy
from sismo.recorder.draft import Job
from sismo.recorder.local import local
from sismo.recorder.panel import Panel
from sismo.recorder.scene import Scene
from sismo.recorder.taps import Taps
from sismo.records.types import Event


class ActivationsPanel(Panel):
    """The size of what layers return."""

    name: ClassVar[str] = "activations"
    of_modules: ClassVar[bool] = True

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        found = () if scene.compiled else anatomy.layers(scene.root, scene.blocks)
        self._layers = {layer.name: layer.module for layer in found}
        self._taps = Taps(scene.shield, scene.taps)

    def jobs(self) -> Sequence[Job]:
        return [Job(self.name, layer) for layer in self._layers]

    def arm(self, parts: Collection[str]) -> None:
        self._taps.clear()
        for part in parts:
            self._taps.output(self._layers[part], partial(self._measure, part))

    def landed(self, step: int, values: dict[str, float]) -> Sequence[Event]:
        return ()

    def _measure(self, layer: str, output: Tensor) -> None:
        with self.timed(layer):
            mean, largest, nonfinite, near = statistics(local(output))
            self.scene.draft.add(f"act_mean_abs/{layer}", mean)
            self.scene.draft.add(f"act_max_abs/{layer}", largest)
            self.scene.draft.add(f"act_nonfinite/{layer}", nonfinite)
            self.scene.draft.add(f"act_near_limit/{layer}", near)


def statistics(output: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Mean |a|, max |a|, number of non-finite entries, share of entries near the limit."""
    entries, most = output.numel(), torch.finfo(output.dtype).max
    size = output.abs()
    # Sums keep their partial sums apart, which a norm of order 1 does at five times the cost; counting is twice as fast as adding up.
    mean, largest = size.sum(dtype=torch.float32) / entries, size.amax()
    # A largest entry that is small rules the others out; an accelerator is not asked for it, as that would be to wait.
    if output.device.type == "cpu" and bool((largest <= most / 2).numpy()):
        none = mean.new_zeros(())
        return mean, largest, none, none
    finite = (size <= most).count_nonzero()
    small = (size <= most / 2).count_nonzero()
    return mean, largest, entries - finite, (finite - small) / entries


PANEL = ActivationsPanel
