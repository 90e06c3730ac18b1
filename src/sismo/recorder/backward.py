"""The call of backward, caught: what it is called on is the loss, also where the loop hands out a number only."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from sismo.recorder.catching import Catcher
from sismo.recorder.events import Moment
from sismo.recorder.scene import Scene


class Backward:
    """Tells of every loss that backward is called on, with the scale that it was multiplied by."""

    def __init__(self, catcher: Catcher, scene: Scene) -> None:
        self._catcher, self._scene = catcher, scene
        self._inside = self._again = False
        self._scaled: list[weakref.ref[Tensor]] = []

    def hang(self) -> None:
        """From now on."""
        self._catcher.catch(torch.autograd, "backward", self._backward)

    def scaled(self, result: Any) -> None:
        """What came out of a scaler that is on."""
        many = [result] if isinstance(result, Tensor) else result if isinstance(result, (list, tuple)) else []
        self._scaled = [weakref.ref(tensor) for tensor in many]

    @contextmanager
    def repeated(self, again: bool) -> Iterator[None]:
        """In here an optimizer calls its closure; again, if it has done so in this step."""
        self._again = again
        try:
            yield
        finally:
            self._again = False

    def _backward(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def note(tensors: Any) -> None:
            for tensor in [tensors] if isinstance(tensors, Tensor) else tensors:
                if isinstance(tensor, Tensor) and tensor.numel() == 1 and tensor.grad_fn is not None:
                    scaler = self._scene.scaler if any(known() is tensor for known in self._scaled) else None
                    self._catcher.tell(Moment.BACKWARD, tensor, None if scaler is None else scaler._scale)

        def backward(tensors: Any, *arguments: Any, **options: Any) -> Any:
            if not isinstance(tensors, (Tensor, Sequence)):
                tensors = tuple(tensors)  # what can be gone through only once
            # Activation checkpointing calls one within another, and an optimizer may call its closure again.
            if self._inside or self._again:
                return original(tensors, *arguments, **options)
            self._catcher.look(note, (tensors,), {})
            self._inside = True
            try:
                return original(tensors, *arguments, **options)
            finally:
                self._inside = False

        return backward
