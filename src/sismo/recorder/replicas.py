"""Whether the replicas of a model still have the same weights: a checksum of some of them at every step, of all in one round."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from sismo.recorder.local import local
from sismo.recorder.ranks import Rows
from sismo.recorder.scene import Weight
from sismo.records.types import Event

_SLICE = 1 << 18
"""Weights in one piece of work."""


class Replicas:
    """Compares the weights of all ranks, spread over rounds of ``every`` steps; never where that is 0."""

    def __init__(self, weights: Sequence[Weight], every: int) -> None:
        self._every = every
        self.follow(weights)

    def follow(self, weights: Sequence[Weight]) -> None:
        """These are the weights from now on: a new round begins."""
        self._slices = [(weight.tensor, at) for weight in weights for at in range(0, local(weight.tensor).numel(), _SLICE)]
        self._compared = 0
        self._differ = False

    def checksum(self, step: int) -> Tensor | None:
        """The sum of the bits of this step's weights, in as many as a double holds."""
        mine = self._slices[step % self._every :: self._every] if self._every else ()
        if not mine:
            return None
        # Sums wrap round in 64 bits; 48 of those pass through a double whole.
        total = torch.stack([_bits(local(tensor).reshape(-1)[at : at + _SLICE]) for tensor, at in mine]).sum()
        return total & 0xFFFFFFFFFFFF

    def compare(self, step: int, rows: Rows, world: int) -> list[Event]:
        """Says that the replicas differ when they begin to, and once a round that they agree."""
        sums = [told.checksum for told in rows.values()]
        if len(sums) == world and not any(map(math.isnan, sums)):
            self._compared += 1
            if len(set(sums)) > 1:
                self._compared = 0
                was, self._differ = self._differ, True
                return [] if was else [Event(step, "probe", {"replicas": "differ"})]
        if not self._every or self._compared < min(self._every, len(self._slices)):
            return []
        self._compared, self._differ = 0, False
        return [Event(step, "probe", {"replicas": "agree"})]


def _bits(flat: Tensor) -> Tensor:
    whole = {8: torch.int64, 4: torch.int32, 2: torch.int16, 1: torch.int8}[flat.element_size()]
    return flat.view(whole).sum(dtype=torch.int64)
