"""The tensors in what a model is called with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor

from sismo.recorder.local import readable


def tensors(values: Any) -> Iterator[Tensor]:
    """Those that can be read, wherever they lie in mappings, lists and tuples; both parts of each number of a complex one."""
    if isinstance(values, Tensor):
        if readable(values):
            yield torch.view_as_real(values.resolve_conj()) if values.is_complex() else values
    elif isinstance(values, Mapping):
        yield from tensors(list(values.values()))
    elif isinstance(values, (list, tuple)):
        for value in values:
            yield from tensors(value)


def whole(tensor: Tensor) -> bool:
    """Whether its numbers are whole ones, as tokens and labels are, and no truths."""
    return not tensor.is_floating_point() and not tensor.is_complex() and tensor.dtype != torch.bool
