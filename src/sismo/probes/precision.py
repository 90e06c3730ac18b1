"""The user's code in another precision than it asks for: every autocast region, and every conversion to half that it writes down itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

HALF = (torch.float16, torch.bfloat16)
_CASTS: tuple[Callable[..., Any], ...] = (Tensor.half, Tensor.bfloat16)


@contextmanager
def precision(dtype: torch.dtype | None, seen: Callable[[], None]) -> Iterator[None]:
    """Computes in ``dtype`` wherever the code asks for half precision; None leaves it as it is. ``seen`` is called where it asks for it.

    Weights and batches that are kept in half precision are the caller's affair.
    """
    original = torch.autocast.__enter__

    def enter(region: Any) -> Any:
        if region._enabled:
            seen()
        if dtype is not None:
            region._enabled, region.fast_dtype = dtype is not torch.float32, dtype
        return original(region)

    torch.autocast.__enter__ = enter  # pyright: ignore[reportAttributeAccessIssue]
    try:
        with _Conversions(dtype, seen):
            yield
    finally:
        torch.autocast.__enter__ = original


class _Conversions(TorchFunctionMode):
    """``x.half()``, ``x.to(torch.float16)``, ``torch.zeros(3, dtype=torch.bfloat16)`` …"""

    def __init__(self, dtype: torch.dtype | None, seen: Callable[[], None]) -> None:
        super().__init__()
        self._dtype, self._seen = dtype, seen

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> Any:
        kwargs = kwargs or {}
        if func in _CASTS or any(_is_half(value) for value in (*args, *kwargs.values())):
            self._seen()
            if self._dtype is not None:
                if func in _CASTS:
                    return args[0].to(self._dtype)
                args = tuple(self._dtype if _is_half(value) else value for value in args)
                kwargs = {name: self._dtype if _is_half(value) else value for name, value in kwargs.items()}
        return func(*args, **kwargs)


def _is_half(value: object) -> bool:
    return isinstance(value, torch.dtype) and value in HALF
