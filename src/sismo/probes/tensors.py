"""Tensors inside whatever a model takes and returns, and what can be said of one."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor

from sismo.records.probing import RANGE


class Operand(NamedTuple):
    """A tensor in numbers.

    Attributes:
        name: what it is called where it has a name. shape, dtype: as torch has them.
        low, high: its range over the finite values, NaN where there are none. finite: whether every value is.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    low: float
    high: float
    finite: bool

    @property
    def range(self) -> str:
        """``-1.2 to 3.4``, as it is printed."""
        return "" if math.isnan(self.low) else f"{self.low:.3g}{RANGE}{self.high:.3g}"


def describe(tensor: Tensor, name: str = "") -> Operand:
    """The numbers of a tensor of any dtype."""
    values = _plain(tensor)
    low, high = _edges(values)
    whole = values.numel() == 0 or (math.isfinite(low) and math.isfinite(high))
    if not whole:
        low, high = _edges(values[values.isfinite()])
    return Operand(name, tuple(tensor.shape), str(tensor.dtype).removeprefix("torch."), low, high, whole)


def finite(tensor: Tensor) -> bool:
    """Whether every value of a tensor is a number; whole numbers are."""
    if not (tensor.is_floating_point() or tensor.is_complex()) or tensor.is_meta or not tensor.numel():
        return True
    return all(math.isfinite(edge) for edge in _edges(_plain(tensor)))


def _plain(tensor: Tensor) -> Tensor:
    values = tensor.detach()
    if values.is_complex():
        values = torch.view_as_real(values)
    if values.is_sparse:
        return values.coalesce().values()
    return values if values.layout is torch.strided else values.to_dense()


def _edges(values: Tensor) -> tuple[float, float]:
    """Least and greatest value, both NaN where there is one or nothing at all: one reading tells range and finiteness."""
    if not values.numel():
        return math.nan, math.nan
    low, high = (values if values.element_size() > 1 or not values.is_floating_point() else values.float()).aminmax()
    return float(low), float(high)


def tensors(value: Any) -> Iterator[Tensor]:
    """Every tensor in lists, tuples, mappings and dataclasses, in order."""
    for _, tensor in named(value):
        yield tensor


def named(value: Any, name: str = "") -> Iterator[tuple[str, Tensor]]:
    """The same with a path to each: ``labels``, ``0``, ``past.1``."""
    if isinstance(value, Tensor):
        yield name, value
        return
    if isinstance(value, Mapping):
        parts = [(str(key), part) for key, part in value.items()]
    elif isinstance(value, (list, tuple)):
        parts = [(str(place), part) for place, part in enumerate(value)]
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        parts = [(field.name, getattr(value, field.name)) for field in dataclasses.fields(value)]
    else:
        return
    for key, part in parts:
        yield from named(part, f"{name}.{key}" if name else key)


def mapped(value: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """The same nest of lists, tuples and mappings with every tensor in it changed."""
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, Mapping):
        made = {key: mapped(part, change) for key, part in value.items()}
        return made if type(value) is dict else type(value)(made)  # pyright: ignore[reportCallIssue] - a mapping takes a mapping
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(mapped(part, change) for part in value))
    if isinstance(value, (list, tuple)):
        return type(value)(mapped(part, change) for part in value)
    return value
