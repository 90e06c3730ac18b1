"""Taps on single modules: set for one step, taken away after it, and each used once, whatever calls the module again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from sismo.recorder.shield import Shield


class Taps:
    """Hooks that read outputs or inputs of modules in training.

    A tap is used up by the first call of its module in a step. Later micro-batches and the second forward pass of activation
    checkpointing are not looked at; an evaluation, or a pass without gradients, does not count as a call.
    """

    def __init__(self, shield: Shield) -> None:
        self._shield = shield
        self._handles: list[RemovableHandle] = []
        self._used: set[int] = set()

    def clear(self) -> None:
        """Takes all taps away."""
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        self._used.clear()

    def output(self, module: nn.Module, use: Callable[[Tensor], None]) -> None:
        """``use`` gets the first floating-point tensor of what the module returns."""
        number = len(self._handles)

        def hook(module: nn.Module, arguments: Any, result: Any) -> None:
            if self._fresh(module, number):
                self._use(result, use)

        self._handles.append(module.register_forward_hook(hook))

    def input(self, module: nn.Module, use: Callable[[Tensor], None]) -> None:
        """``use`` gets the first floating-point tensor that the module is given."""
        number = len(self._handles)

        def hook(module: nn.Module, arguments: Any) -> None:
            if self._fresh(module, number):
                self._use(arguments, use)

        self._handles.append(module.register_forward_pre_hook(hook))

    def around(self, module: nn.Module, enter: Callable[[], None], leave: Callable[[], None]) -> None:
        """``enter`` before and ``leave`` after the module's call, also when it raises."""
        number = len(self._handles)
        inside: list[bool] = []

        def before(module: nn.Module, arguments: Any) -> None:
            if self._fresh(module, number):
                enter()
                inside.append(True)

        def after(module: nn.Module, arguments: Any, result: Any) -> None:
            if inside:
                inside.pop()
                leave()

        self._handles.append(module.register_forward_pre_hook(before))
        self._handles.append(module.register_forward_hook(after, always_call=True))

    def _fresh(self, module: nn.Module, number: int) -> bool:
        if number in self._used or not (module.training and torch.is_grad_enabled() and self._shield.alive):
            return False
        self._used.add(number)
        return True

    def _use(self, values: Any, use: Callable[[Tensor], None]) -> None:
        with self._shield():
            found = floating(values)
            if found is not None:
                use(found.detach())


def floating(values: Any) -> Tensor | None:
    """The floating-point tensor with the most axes in a result: ``logits`` of a model's output, the states of a block."""
    if isinstance(values, Tensor):
        return values if values.is_floating_point() and values.numel() else None
    if hasattr(values, "logits"):
        return floating(values.logits)
    many = values.values() if hasattr(values, "values") else values if isinstance(values, (tuple, list)) else ()
    tensors = [found for found in map(floating, many) if found is not None]
    return max(tensors, key=lambda tensor: tensor.ndim, default=None)
