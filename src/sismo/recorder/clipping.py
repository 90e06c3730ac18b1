"""Gradient clipping, caught one level below ``clip_grad_norm_`` and ``clip_grad_value_``, in the helpers that these look up when they are
called, because most loops have imported the functions themselves long before a recorder exists.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor
from torch.nn.utils import clip_grad

from sismo.recorder.catching import Catcher
from sismo.recorder.events import Moment
from sismo.recorder.scene import Scene, Weight


class Clipping:
    """Tells of each clipping of this model's gradients."""

    def __init__(self, catcher: Catcher, scene: Scene) -> None:
        self._catcher, self._scene = catcher, scene
        self._norm_type = 2.0
        self._weights: list[Weight] | None = None
        self._mine: set[int] = set()

    def hang(self) -> None:
        """From now on."""
        self._catcher.catch(clip_grad, "_get_total_norm", self._total_norm)
        self._catcher.catch(clip_grad, "_clip_grads_with_norm_", self._norm_clip)
        self._catcher.catch(clip_grad, "_group_tensors_by_device_and_dtype", self._value_clip)

    def _total_norm(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def note(tensors: Any, norm_type: float = 2.0, *arguments: Any, **options: Any) -> None:
            self._norm_type = float(norm_type)

        def total(*arguments: Any, **options: Any) -> Any:
            self._catcher.look(note, arguments, options)
            return original(*arguments, **options)

        return total

    def _norm_clip(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def note(parameters: Any, max_norm: float, total_norm: Tensor, *arguments: Any, **options: Any) -> None:
            many = [parameters] if isinstance(parameters, Tensor) else list(parameters)
            if self._concerns(many):
                self._catcher.run(Moment.CLIPPED, many, float(max_norm), total_norm if self._norm_type == 2.0 else None)

        def clip(*arguments: Any, **options: Any) -> Any:
            if arguments and not isinstance(arguments[0], (Tensor, Sequence)):
                arguments = (list(arguments[0]), *arguments[1:])  # what can be gone through only once
            self._catcher.look(note, arguments, options)
            return original(*arguments, **options)

        return clip

    def _value_clip(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """``clip_grad_value_`` groups its gradients with this; so does the norm, for which it is called below ``_get_total_norm``."""

        def note(tensors: Any, *arguments: Any, **options: Any) -> None:
            if found := self._gradients(tensors):
                self._catcher.run(Moment.CLIPPED, found, None, None)

        def group(*arguments: Any, **options: Any) -> Any:
            if sys._getframe(1).f_code.co_name == "clip_grad_value_":
                self._catcher.look(note, arguments, options)
            return original(*arguments, **options)

        return group

    def _gradients(self, groups: Sequence[Sequence[Tensor]]) -> list[Tensor]:
        wanted = {id(tensor) for tensors in groups for tensor in tensors}
        return [weight.tensor for weight in self._scene.weights if id(weight.tensor.grad) in wanted]

    def _concerns(self, tensors: Sequence[Tensor]) -> bool:
        if self._weights is not self._scene.weights:
            self._weights = self._scene.weights
            self._mine = {id(weight.tensor) for weight in self._weights}
        return any(id(tensor) in self._mine for tensor in tensors)
