"""Which module's own code is running, from hooks on every module."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from torch import nn


class Visitor(Protocol):
    """Told about every module as it is entered and left; ``""`` is the model itself."""

    def entered(self, name: str, inputs: Any) -> None: ...

    def left(self, name: str, inputs: Any, output: Any) -> None: ...


@contextmanager
def visited(model: nn.Module, visitor: Visitor) -> Iterator[None]:
    """Tells a visitor about every call of every module while the body runs."""
    handles: list[Any] = []
    try:
        for name, module in model.named_modules():
            handles.append(module.register_forward_pre_hook(_pre(visitor, name), with_kwargs=True))
            handles.append(module.register_forward_hook(_post(visitor, name), with_kwargs=True))
        yield
    finally:
        for handle in handles:
            handle.remove()


def owner(parameter: str) -> str:
    """The path of the module that holds a parameter, from the parameter's own path."""
    return parameter.rpartition(".")[0]


def _pre(visitor: Visitor, name: str) -> Callable[..., None]:
    def hook(module: nn.Module, arguments: Any, options: Any) -> None:
        visitor.entered(name, (arguments, options))

    return hook


def _post(visitor: Visitor, name: str) -> Callable[..., None]:
    def hook(module: nn.Module, arguments: Any, options: Any, output: Any) -> None:
        visitor.left(name, (arguments, options), output)

    return hook
