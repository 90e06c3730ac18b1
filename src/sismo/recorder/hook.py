"""Hooks that stay with the model that they were hung on, and out of the way of whoever copies, traces or transforms it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn


class Hook:
    """A hook on a module. It changes nothing of the call, and is not called at all where ``elsewhere``.

    A model may be copied or pickled while it is recorded (for an average of its weights, or to keep the best one). What hangs on a copy
    does nothing: on a deep copy it takes itself away; out of a pickle comes a function of Python's own, as the model may be loaded where
    there is no sismo.
    """

    def __init__(self, call: Callable[..., None]) -> None:
        self._call = call

    def __call__(self, *given: Any) -> None:
        if not elsewhere():
            self._call(*given)

    def __deepcopy__(self, memo: dict[int, Any]) -> Hook:
        return Hook(_leave)

    def __reduce__(self) -> tuple[Any, ...]:
        return getattr, (contextlib.nullcontext(), "__exit__")


@contextlib.contextmanager
def taken_off(model: nn.Module) -> Iterator[None]:
    """Hangs no hook of sismo on a model and its parts, for those who would make code of it."""
    kept = [(hooks, dict(hooks)) for part in model.modules() for hooks in (part._forward_pre_hooks, part._forward_hooks)]
    for hooks, all_of_them in kept:
        for key in [key for key, hook in all_of_them.items() if isinstance(hook, Hook)]:
            del hooks[key]
    try:
        yield
    finally:
        for hooks, all_of_them in kept:
            hooks.clear()
            hooks.update(all_of_them)


def elsewhere() -> bool:
    """Whether a call is not one of training on numbers: it is traced or compiled, or belongs to a transform of ``torch.func``."""
    if torch.compiler.is_compiling() or torch.jit.is_tracing():  # pyright: ignore[reportPrivateImportUsage]
        return True
    return torch._C._functorch.peek_interpreter_stack() is not None  # pyright: ignore[reportAttributeAccessIssue]


def _leave(module: nn.Module, *given: Any) -> None:
    # With it go those of its parts: not every one of them need be called.
    for part in module.modules():
        for hooks in (part._forward_pre_hooks, part._forward_hooks):
            for key in [key for key, hook in hooks.items() if isinstance(hook, Hook) and hook._call is _leave]:
                del hooks[key]
