"""A few bits that tell batches apart."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

PLACES = 1 << 16
"""Entries that are looked at."""
_GOLDEN, _MIXER = -7046029254386353131, -49064778989728563


class Fingerprint:
    """48 bits of sum h(x_i * o_i) over the bits of up to 65,536 entries, with an odd constant o_i for each place.

    Sums wrap round in 64 bits, and only their middle bits are used. Source: the mixing step of ``h`` is MurmurHash3's; without it the sum
    is linear, and batches of ones and zeros with the same sum of places have the same print.
    """

    def __init__(self) -> None:
        self._places = torch.zeros(0, dtype=torch.int64, device="cpu")

    def of(self, tensor: Tensor) -> Tensor:
        """The sum, as four whole numbers of 16 bits: any device has them, and a number of single precision holds them."""
        flat = tensor.detach().reshape(-1)
        if flat.numel() > PLACES:
            flat = flat[:: -(-flat.numel() // PLACES)]
        if flat.is_floating_point():
            flat = flat.float().resolve_neg().view(torch.int32)
        mixed = (flat.long() + 1).mul_(self._constants(flat))
        mixed = (mixed >> 33).bitwise_xor_(mixed).mul_(_MIXER).sum(0, keepdim=True)
        return mixed.view(torch.int16)

    def _constants(self, flat: Tensor) -> Tensor:
        if len(self._places) < len(flat) or self._places.device != flat.device:
            self._places = (torch.arange(len(flat), device=flat.device) * 2 + 1) * _GOLDEN
        return self._places[: len(flat)]


def number(parts: Sequence[float]) -> float:
    """The 48 bits as a whole number, from what ``Fingerprint.of`` returned."""
    whole = sum((int(part) & 0xFFFF) << 16 * at for at, part in enumerate(parts))
    return float(whole >> 8 & 0xFFFFFFFFFFFF)
