"""Panel 5, spectra: ``spectral/PARAM``, the largest singular value of every weight matrix.

Formula: power iteration, v <- W'u / |W'u| with u <- Wv / |Wv|; the value is |W'u|. The vector is kept from one measurement to the next,
so that it follows the matrix as it is trained: within 1 % of an SVD after a dozen of them. Convolutions are read as (out, rest). Cost: 2
products of the matrix with a vector, 40 the first time; matrices take turns. Source: the user's own panel 5; Miyato and others, arXiv
1802.05957.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn.functional import normalize
from torch.optim import Optimizer

from sismo.recorder.local import sharded
from sismo.recorder.panel import Job, Panel
from sismo.recorder.scene import Scene
from sismo.records.types import Event

FIRST_ROUNDS, ROUNDS = 20, 1
"""Iterations of the first measurement of a matrix, and of each later one."""
MAX_ENTRIES = 1 << 26
"""Larger matrices are left out: one measurement would read more than 2 GB."""


class SpectralPanel(Panel):
    """Spectral norms by warm-started power iteration."""

    name: ClassVar[str] = "spectral"
    of_weights: ClassVar[bool] = True

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self._weights = {
            weight.name: weight
            for weight in scene.weights
            if weight.tensor.ndim >= 2
            and not weight.tensor.is_complex()
            and min(weight.tensor.flatten(1).shape) > 1
            and weight.tensor.numel() <= MAX_ENTRIES
            # No rank has the whole of a sharded matrix.
            and not sharded(weight.tensor)
        }
        self._vectors: dict[str, Tensor] = {}
        self._armed: list[str] = []

    def jobs(self) -> Sequence[Job]:
        return [Job(self.name, name) for name in self._weights]

    def arm(self, parts: Collection[str]) -> None:
        self._armed = list(parts)

    def landed(self, step: int, values: dict[str, float]) -> Sequence[Event]:
        return ()

    def on_before_update(self, optimizer: Optimizer) -> None:
        """The weights that this step's loss came from."""
        for name in self._armed:
            if self._weights[name].optimizer is optimizer:
                with self.timed(name):
                    matrix = self._weights[name].tensor.detach().flatten(1)
                    start = self._vectors.get(name)
                    value, self._vectors[name] = largest(matrix, start, FIRST_ROUNDS if start is None else ROUNDS)
                    self.scene.draft.add(f"spectral/{name}", value)


def largest(matrix: Tensor, start: Tensor | None, rounds: int) -> tuple[Tensor, Tensor]:
    """An estimate of the largest singular value from below, and the vector to go on from."""
    matrix = matrix.float()
    if start is None:
        # A generator of our own: the random numbers of the training are not touched.
        generator = torch.Generator("cpu").manual_seed(0)
        drawn = torch.randn(matrix.shape[1], generator=generator, dtype=torch.float32, device="cpu")
        start = normalize(drawn, dim=0).to(matrix.device, non_blocking=True)
    value = matrix.new_zeros(())
    vector = start
    for _ in range(rounds):
        left = normalize(matrix @ vector, dim=0)
        raw = matrix.mT @ left
        value = torch.linalg.vector_norm(raw)
        vector = raw / value.clamp(min=torch.finfo(raw.dtype).tiny)
    # A matrix that was not finite must not spoil the vector for good.
    sound = torch.isfinite(vector).all()
    return value, torch.where(sound, vector, start)


PANEL = SpectralPanel
