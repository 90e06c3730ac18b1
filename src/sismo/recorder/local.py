"""Tensors as they lie on this rank."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor


def local(tensor: Tensor) -> Tensor:
    """The part of a sharded tensor that lies on this rank; any other tensor as it is. The values of a sparse one; of a complex one, both
    parts of each number.
    """
    if hasattr(tensor, "to_local"):
        tensor = tensor.to_local()  # pyright: ignore[reportAttributeAccessIssue]
    if tensor.is_sparse:
        tensor = tensor.coalesce().values()
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor.resolve_conj())
    return tensor.detach()


def readable(tensor: Tensor) -> bool:
    """Whether a tensor has a number in each place of its shape: neither sparse nor nested, quantized, or without numbers at all."""
    return tensor.layout is torch.strided and not (tensor.is_nested or tensor.is_quantized or tensor.is_meta)


def shards(tensor: Tensor) -> int:
    """Over how many ranks a tensor is spread: 1 for one that is whole on each."""
    if not sharded(tensor):
        return 1
    placed: Any = tensor
    return math.prod(placed.device_mesh.size(at) for at, placement in enumerate(placed.placements) if not placement.is_replicate())


def sharded(tensor: Tensor) -> bool:
    """Whether other ranks hold the rest of this tensor."""
    return hasattr(tensor, "to_local")
