"""Taps on single modules: set for one step, taken away after it, and each used once, whatever calls the module again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from sismo.recorder.hook import Hook
from sismo.recorder.local import readable
from sismo.recorder.shield import Shield


class Hanging(Protocol):
    """What hangs in the model for no longer than it must."""

    @property
    def used(self) -> bool:
        """Whether anything came by in this step."""
        ...

    @property
    def on_modules(self) -> bool:
        """Whether it hangs on modules."""
        ...

    def hang(self) -> None:
        """Hangs it up for this step."""
        ...

    def rest(self) -> None:
        """Takes it down until it is to hang again."""
        ...


class Taps:
    """Hooks that read outputs or inputs of modules in training.

    A tap is used up by the first call of its module in a step. Later micro-batches and the second forward pass of activation
    checkpointing are not looked at; an evaluation, or a pass without gradients, does not count as a call.

    Modules can tell that a hook hangs on them, and some of torch's own work out an evaluation in another way then. So taps hang no longer
    than they must: see ``hang`` and ``rest``.
    """

    on_modules = True

    def __init__(self, shield: Shield, all_taps: list[Hanging]) -> None:
        self._shield = shield
        self._wanted: list[Callable[[], RemovableHandle]] = []
        self._handles: list[RemovableHandle] = []
        self._used: set[int] = set()
        self._entered: list[Callable[[], None]] = []
        all_taps.append(self)

    @property
    def used(self) -> bool:
        """Whether any tap was used in this step."""
        return bool(self._used)

    def clear(self) -> None:
        """Takes all taps away."""
        self.rest()
        self._wanted.clear()
        self._used.clear()

    def hang(self) -> None:
        """Hangs the taps of this step on their modules."""
        if not self._handles:
            self._handles = [hang() for hang in self._wanted]

    def rest(self) -> None:
        """Takes them off their modules until they are to hang again."""
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        while self._entered:  # an interruption ends a call without its hooks
            self._entered.pop()()

    def output(self, module: nn.Module, use: Callable[[Tensor], None]) -> None:
        """``use`` gets the first floating-point tensor of what the module returns, with its graph."""
        number = len(self._wanted)

        def look(module: nn.Module, arguments: Any, result: Any) -> None:
            if self._fresh(module, number):
                self._use(result, use)

        self._want(module, partial(module.register_forward_hook, Hook(look)))

    def input(self, module: nn.Module, use: Callable[[Tensor], None]) -> None:
        """``use`` gets the first floating-point tensor that the module is given."""
        number = len(self._wanted)

        def look(module: nn.Module, arguments: Any) -> None:
            if self._fresh(module, number):
                self._use(arguments, use)

        self._want(module, partial(module.register_forward_pre_hook, Hook(look)))

    def around(self, module: nn.Module, enter: Callable[[], None], leave: Callable[[], None]) -> None:
        """``enter`` before and ``leave`` after the module's call, also when it raises; by ``rest`` at the latest."""
        number = len(self._wanted)

        def before(module: nn.Module, arguments: Any) -> None:
            if self._fresh(module, number):
                self._entered.append(leave)
                enter()

        def after(module: nn.Module, arguments: Any, result: Any) -> None:
            if leave in self._entered:
                self._entered.remove(leave)
                leave()

        self._want(module, partial(module.register_forward_pre_hook, Hook(before)))
        self._want(module, partial(module.register_forward_hook, Hook(after), always_call=True))

    def _want(self, module: nn.Module, hang: Callable[[], RemovableHandle]) -> None:
        if not isinstance(module, torch.jit.ScriptModule):  # which takes no hooks
            self._wanted.append(hang)

    def _fresh(self, module: nn.Module, number: int) -> bool:
        if number in self._used or not (module.training and torch.is_grad_enabled() and self._shield.alive):
            return False
        self._used.add(number)
        return True

    def _use(self, values: Any, use: Callable[[Tensor], None]) -> None:
        with self._shield:
            found = floating(values)
            if found is not None:
                use(found)


def floating(values: Any) -> Tensor | None:
    """The floating-point tensor with the most axes in a result: ``logits`` of a model's output, the states of a block."""
    if isinstance(values, Tensor):
        # torch has next to no arithmetic for numbers of one byte.
        worked_with = values.is_floating_point() and values.dtype.itemsize > 1
        return values if worked_with and readable(values) and values.numel() else None
    # What lies in the result as it is: a property would be worked out here, and might be kept.
    held = getattr(values, "__dict__", {})
    if isinstance(held.get("logits"), Tensor):
        return floating(held["logits"])
    many = values.values() if isinstance(values, Mapping) else values if isinstance(values, (tuple, list)) else ()
    tensors = [found for found in map(floating, many) if found is not None]
    return max(tensors, key=lambda tensor: tensor.ndim, default=None)
