"""Panel 5, spectra: ``spectral/PARAM``, the largest singular value of every weight matrix.

Formula: power iteration, v <- W'u / |W'u| with u <- Wv / |Wv|; the value is |W'u|. The vector is kept from one measurement to the next,
so that it follows the matrix as it is trained. The first one is the best of all that 20 iterations lead through (Lanczos), which is within
1 % of an SVD at once, also for a random matrix, whose largest values lie close together: the last of 100 would not be. Convolutions are
read as (out, rest). Cost: 2 products of the matrix with a vector, 40 the first time; matrices take turns. Sources: the user's own panel
5; Miyato and others, arXiv 1802.05957; Golub and Van Loan, Matrix Computations, 10.4.
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
_SQUARINGS = 12
"""Of a small matrix that is to tell its largest value, without asking the host: values that lie 0.1 % apart are told from each other."""
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
                    value, self._vectors[name] = first(matrix) if start is None else largest(matrix, start, ROUNDS)
                    self.scene.draft.add(f"spectral/{name}", value)


def first(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """The same as ``largest`` gives, for a matrix of which nothing is known."""
    matrix = matrix.float()
    rounds = min(FIRST_ROUNDS, min(matrix.shape) + 1)
    # A generator of our own: the random numbers of the training are not touched.
    drawn = torch.randn(matrix.shape[1], generator=torch.Generator("cpu").manual_seed(0), dtype=torch.float32, device="cpu")
    start = normalize(drawn, dim=0).to(matrix.device, non_blocking=True)
    basis, images = matrix.new_zeros(rounds, matrix.shape[1]), matrix.new_zeros(rounds, matrix.shape[0])
    vector = start
    for at in range(rounds):
        basis[at], images[at] = vector, matrix @ vector
        vector = matrix.mT @ images[at]
        for _ in range(2):  # once leaves what rounding made of it
            vector = vector - basis.mT @ (basis @ vector)
        vector = normalize(vector, dim=0)
    power = images @ images.mT
    for _ in range(_SQUARINGS):
        power = power / power.trace().clamp(min=torch.finfo(power.dtype).tiny)
        power = power @ power
    mix = power.index_select(1, power.diagonal().argmax().reshape(1)).squeeze(1)
    vector = mix @ basis
    size = torch.linalg.vector_norm(vector).clamp(min=torch.finfo(vector.dtype).tiny)
    return torch.linalg.vector_norm(mix @ images) / size, _sound(vector / size, start)


def largest(matrix: Tensor, start: Tensor, rounds: int) -> tuple[Tensor, Tensor]:
    """An estimate of the largest singular value from below, and the vector to go on from."""
    matrix = matrix.float()
    value = matrix.new_zeros(())
    vector = start
    for _ in range(rounds):
        left = normalize(matrix @ vector, dim=0)
        raw = matrix.mT @ left
        value = torch.linalg.vector_norm(raw)
        vector = raw / value.clamp(min=torch.finfo(raw.dtype).tiny)
    return value, _sound(vector, start)


def _sound(vector: Tensor, start: Tensor) -> Tensor:
    """A matrix that was not finite, or all zeros as an adapter starts, must not spoil the vector for good."""
    return torch.where(torch.isfinite(vector).all() & vector.any(), vector, start)


PANEL = SpectralPanel
