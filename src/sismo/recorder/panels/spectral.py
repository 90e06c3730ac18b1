"""Panel 5, spectra: ``spectral/PARAM``, the largest singular value of every weight matrix.

Formula: power iteration, v <- W'u / |W'u| with u <- Wv / |Wv|; the value is |W'u|. The vector is kept from one measurement to the next,
so that it follows the matrix as it is trained. The first four are the best of all that some iterations lead through (Lanczos): of four in
the first step, which has much else to measure, within 10 % of an SVD, also for a random matrix, whose largest values lie close
together; of eight more at each of the matrix's next three turns, within 1 %. The last of 100 would not be. Convolutions are
read as (out, rest). Cost: 2 products of the matrix with a vector, 8 to 16 the first times; matrices take turns. Sources: the user's own
panel 5; Miyato and others, arXiv 1802.05957; Golub and Van Loan, Matrix Computations, 10.4.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn.functional import normalize
from torch.optim import Optimizer

from sismo.recorder.draft import Job
from sismo.recorder.local import sharded
from sismo.recorder.panel import Panel
from sismo.recorder.scene import Scene
from sismo.records.types import Event

WARMUP = (4, 8, 8, 8)
"""Iterations of the first measurements of a matrix; each later one is one more."""
_SQUARINGS = 12
"""Of a small matrix that is to tell its largest value, without asking the host: values that lie 0.1 % apart are told from each other."""
_NOTHING = 1e-5
"""Share of a vector that is rounding: some hundred times what single precision resolves."""
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
        self._looks: dict[str, int] = {}
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
                    before = self._looks.get(name, 0)
                    value, self._vectors[name] = look(matrix, self._vectors.get(name), before)
                    self._looks[name] = before + 1
                    self.scene.draft.add(f"spectral/{name}", value)


def look(matrix: Tensor, start: Tensor | None, before: int) -> tuple[Tensor, Tensor]:
    """An estimate of the largest singular value from below, and the vector to go on from; it was looked at so many times before."""
    return warmed(matrix, start, WARMUP[before]) if start is None or before < len(WARMUP) else largest(matrix, start)


def warmed(matrix: Tensor, start: Tensor | None, rounds: int) -> tuple[Tensor, Tensor]:
    """The best of all that so many iterations lead through, for a matrix of which nothing is known, or little."""
    matrix = matrix.float()
    rounds = min(rounds, min(matrix.shape) + 1)
    start = _drawn(matrix) if start is None else start
    basis, images = matrix.new_zeros(rounds, matrix.shape[1]), matrix.new_zeros(rounds, matrix.shape[0])
    vector = start
    for at in range(rounds):
        basis[at], images[at] = vector, matrix @ vector
        raw = matrix.mT @ images[at]
        vector = raw
        for _ in range(2):  # once leaves what rounding made of it
            vector = vector - basis.mT @ (basis @ vector)
        size = torch.linalg.vector_norm(vector)
        # What is left when there is nothing new is rounding, and no direction.
        vector = vector * torch.where(size > _NOTHING * torch.linalg.vector_norm(raw), 1 / size, torch.zeros_like(size))
    power = images @ images.mT
    for _ in range(_SQUARINGS):
        power = power / power.trace().clamp(min=torch.finfo(power.dtype).tiny)
        power = power @ power
    mix = power.index_select(1, power.diagonal().argmax().reshape(1)).squeeze(1)
    vector = mix @ basis
    size = torch.linalg.vector_norm(vector).clamp(min=torch.finfo(vector.dtype).tiny)
    return torch.linalg.vector_norm(mix @ images) / size, _sound(vector / size, start)


def _drawn(matrix: Tensor) -> Tensor:
    # A generator of our own: the random numbers of the training are not touched.
    drawn = torch.randn(matrix.shape[1], generator=torch.Generator("cpu").manual_seed(0), dtype=torch.float32, device="cpu")
    return normalize(drawn, dim=0).to(matrix.device, non_blocking=True)


def largest(matrix: Tensor, start: Tensor) -> tuple[Tensor, Tensor]:
    """One more iteration, from the vector of a matrix that was much like this one."""
    matrix = matrix.float()
    left = normalize(matrix @ start, dim=0)
    raw = matrix.mT @ left
    value = torch.linalg.vector_norm(raw)
    return value, _sound(raw / value.clamp(min=torch.finfo(raw.dtype).tiny), start)


def _sound(vector: Tensor, start: Tensor) -> Tensor:
    """A matrix that was not finite, or all zeros as an adapter starts, must not spoil the vector for good."""
    return torch.where(torch.isfinite(vector).all() & vector.any(), vector, start)


PANEL = SpectralPanel
