"""Ties torch to the moments of ``events.Moment``: optimizers, gradient clipping, the scaler, criteria and the model's own call.

Gradient clipping is caught one level below ``clip_grad_norm_`` and ``clip_grad_value_``, in the helpers that these look up when they are
called, because most loops have imported the functions themselves long before a recorder exists. So are the criteria.
"""

from __future__ import annotations

import functools
import sys
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.jit import _builtins
from torch.nn.utils import clip_grad
from torch.optim import Optimizer
from torch.utils.hooks import RemovableHandle

from sismo.recorder.events import Moment
from sismo.recorder.hook import Hook, elsewhere, taken_off
from sismo.recorder.scene import Scene, Weight
from sismo.recorder.shield import Shield, log

Tell = Callable[..., None]

_OF_NN = ("cross_entropy_loss", "nll_loss_nd", "binary_cross_entropy", "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")
_CRITERIA = (*((torch._C._nn, name) for name in _OF_NN), (torch, "binary_cross_entropy_with_logits"), (torch, "kl_div"))  # pyright: ignore[reportAttributeAccessIssue]
"""What the criteria in ``torch.nn.functional`` call: scores first, targets second."""


class Hooks:
    """Everything that is hung into torch for one recorder. ``tell(moment, ...)`` is called at each moment, inside the shield."""

    def __init__(self, scene: Scene, shield: Shield, tell: Tell) -> None:
        self._scene, self._shield, self._tell = scene, shield, tell
        self._undo: list[Callable[[], None]] = []
        self._hangs = False
        self._updated: set[int] = set()
        self._called = self._root_called = self._part_called = False
        self._root: RemovableHandle | None = None
        self._parts: dict[nn.Module, RemovableHandle] = {}
        self.tap_at_call = self.unseen = False
        self._again = self._in_backward = False
        self._scaled: list[weakref.ref[Tensor]] = []
        self._norm_type = 2.0
        self.acted = False
        self._weights: list[Weight] | None = None
        self._mine: set[int] = set()
        self._optimizers = weakref.WeakSet(scene.optimizers)

    def hang(self) -> None:
        """Sets all hooks."""
        self._hangs = True
        for optimizer in self._scene.optimizers:
            for handle in (optimizer.register_step_pre_hook(self._before), optimizer.register_step_post_hook(self._after)):
                self._undo.append(handle.remove)
        for kind in _kinds(torch.amp.GradScaler):
            for name, make in (("scale", self._scaler_scale), ("step", self._scaler_step)):
                if name in vars(kind):
                    self._patch(kind, name, make)
        self._patch(torch.autograd, "backward", self._backward)
        # Not ``script`` itself, which looks at who calls it.
        self._patch(torch.jit._recursive, "create_script_module", self._script)  # pyright: ignore[reportAttributeAccessIssue]
        self._patch(clip_grad, "_get_total_norm", self._total_norm)
        self._patch(clip_grad, "_clip_grads_with_norm_", self._norm_clip)
        self._patch(clip_grad, "_group_tensors_by_device_and_dtype", self._value_clip)
        for holder, name in _CRITERIA:
            self._patch(holder, name, functools.partial(self._criterion, name))
        if not self._scene.compiled:
            self._root = self._scene.root.register_forward_pre_hook(Hook(self._forward), with_kwargs=True)
            self._undo.append(self.let_go_of_modules)
            self._await_parts()

    def take_down(self) -> None:
        """Removes them, last one first. What another recorder has wrapped meanwhile stays, and does nothing any more."""
        self._hangs = False
        while self._undo:
            self._undo.pop()()

    def let_go_of_modules(self) -> None:
        """Takes everything off the modules for good."""
        self._let_go_of_parts()
        if self._root is not None:
            self._root.remove()
            self._root = None

    def new_step(self) -> None:
        """A step is over: the next call of the model is the first one of the next step. Call it before taps are set for that.

        They wait for that call, unless the loop calls the parts of its model one by one. Where nothing was called that can be seen, those
        on modules wait as well: a function round the model that is compiled would be compiled anew for other hooks.
        """
        self.tap_at_call = self._called
        self.unseen = not (self._called or self._part_called)
        if not (self._root_called or self._part_called or self._root is None or len(self._parts) > 1):
            self._await_parts()
        self._called = self._root_called = self._part_called = self.acted = False
        self._updated.clear()

    def _patch(self, holder: Any, name: str, make: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
        if not hasattr(holder, name):
            log.warning("this torch has no %s: what is caught there is not recorded", name)
            return
        original = getattr(holder, name)
        mine = make(original)
        setattr(holder, name, mine)

        def undo() -> None:
            # Somebody may have wrapped ours meanwhile; taking theirs away would be worse than leaving a wrapper that does nothing.
            if getattr(holder, name) is mine:
                setattr(holder, name, original)

        self._undo.append(undo)

    def _run(self, moment: Moment, *arguments: Any) -> None:
        if self._hangs and self._shield.alive and not elsewhere():
            with self._shield():
                self._tell(moment, *arguments)

    def _look(self, note: Callable[..., None], arguments: Sequence[Any], options: dict[str, Any]) -> None:
        """Looks at a call of torch's own helpers. Where those have changed their arguments, recording stops and the call goes on."""
        if self._hangs and self._shield.alive and not elsewhere():
            with self._shield():
                note(*arguments, **options)

    def _forward(self, module: nn.Module, arguments: tuple[Any, ...], options: dict[str, Any]) -> None:
        if not torch.is_grad_enabled():
            for taps in self._scene.taps:
                taps.rest()
            if len(self._parts) > 1:
                self._let_go_of_parts()
            self._run(Moment.EVALUATED, module.training)
            return
        if not self._root_called:
            self._root_called = True
            self._let_go_of_parts()
        draft = self._scene.draft
        draft.in_training = module.training or bool(draft.in_training)
        if module.training and not self._called:
            self._called = True
            for taps in self._scene.taps:
                taps.hang()
            if not self._part_called:
                self._run(Moment.INPUTS, arguments, options)

    def _await_parts(self) -> None:
        """Where a loop calls the parts of its model one by one, the inputs are those of the part that it calls first.

        Which one that is shows the first time, and after it only that part is waited for; none is, once the model itself was called.
        """
        for module in self._scene.root.modules():
            if module is not self._scene.root and module not in self._parts and not isinstance(module, torch.jit.ScriptModule):
                self._parts[module] = module.register_forward_pre_hook(Hook(self._part), with_kwargs=True)

    def _let_go_of_parts(self, *, but: nn.Module | None = None) -> None:
        for module in [module for module in self._parts if module is not but]:
            self._parts.pop(module).remove()

    def _part(self, module: nn.Module, arguments: tuple[Any, ...], options: dict[str, Any]) -> None:
        if self._called or self._part_called or not (module.training and torch.is_grad_enabled()):
            return
        self._part_called = True
        self._let_go_of_parts(but=module)
        self._run(Moment.INPUTS, arguments, options)

    def _criterion(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def note(scores: Any, target: Any, *arguments: Any, **options: Any) -> None:
            if isinstance(scores, Tensor) and isinstance(target, Tensor) and scores.requires_grad:
                self._tell(Moment.CRITERION, name, scores.detach(), target.detach())

        def criterion(*arguments: Any, **options: Any) -> Any:
            if torch.is_grad_enabled() and not elsewhere():
                self._look(note, arguments, options)
            return original(*arguments, **options)

        # Who makes a script of a model takes it for what it stands in for.
        table = _builtins._get_builtin_table()
        if (operation := table.get(id(original))) is not None:
            table[id(criterion)] = operation

            def undo() -> None:
                table.pop(id(criterion), None)

            self._undo.append(undo)
        return criterion

    def _before(self, optimizer: Optimizer, arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
        if elsewhere():
            return None
        self.acted = True
        self._updated.add(id(optimizer))
        # An optimizer that is given a closure works out its gradients in there.
        if callable(closure := options.get("closure")):
            return arguments, {**options, "closure": self._told_after(closure, optimizer)}
        if len(arguments) > 1 and callable(arguments[1]):
            return (arguments[0], self._told_after(arguments[1], optimizer), *arguments[2:]), options
        self._run(Moment.BEFORE_UPDATE, optimizer)
        return None

    def _told_after(self, closure: Callable[..., Any], optimizer: Optimizer) -> Callable[..., Any]:
        """The closure, after whose first call the gradients of the step are there."""
        told = False

        @functools.wraps(closure)
        def call(*arguments: Any, **options: Any) -> Any:
            nonlocal told
            self._again = told
            try:
                result = closure(*arguments, **options)
            finally:
                self._again = False
            if not told:
                told = True
                self._run(Moment.BEFORE_UPDATE, optimizer)
            return result

        return call

    def _after(self, optimizer: Optimizer, arguments: Any, options: Any) -> None:
        self._run(Moment.AFTER_UPDATE, optimizer)

    def _scaler_scale(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def scale(scaler: Any, *arguments: Any, **options: Any) -> Any:
            if scaler.is_enabled():
                self._scene.scaler = scaler
            result = original(scaler, *arguments, **options)
            many = [result] if isinstance(result, Tensor) else result if isinstance(result, (list, tuple)) else []
            self._scaled = [weakref.ref(tensor) for tensor in many if scaler.is_enabled()]
            return result

        return scale

    def _backward(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def note(tensors: Any) -> None:
            for tensor in [tensors] if isinstance(tensors, Tensor) else tensors:
                if isinstance(tensor, Tensor) and tensor.numel() == 1 and tensor.grad_fn is not None:
                    scaler = self._scene.scaler if any(known() is tensor for known in self._scaled) else None
                    self._tell(Moment.BACKWARD, tensor, None if scaler is None else scaler._scale)

        def backward(tensors: Any, *arguments: Any, **options: Any) -> Any:
            if not isinstance(tensors, (Tensor, Sequence)):
                tensors = tuple(tensors)  # what can be gone through only once
            # Activation checkpointing calls one within another, and an optimizer may call its closure again.
            if self._in_backward or self._again:
                return original(tensors, *arguments, **options)
            if self._shield.alive and not elsewhere():
                try:  # the shield would cost more than what is done in here
                    note(tensors)
                except Exception as error:
                    self._shield.fail(error)
            self._in_backward = True
            try:
                return original(tensors, *arguments, **options)
            finally:
                self._in_backward = False

        return backward

    def _script(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def create(module: nn.Module, *arguments: Any, **options: Any) -> Any:
            with taken_off(module):
                return original(module, *arguments, **options)

        return create

    def _scaler_step(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def step(scaler: Any, optimizer: Any, *arguments: Any, **options: Any) -> Any:
            mine = getattr(optimizer, "optimizer", optimizer)
            if mine not in self._optimizers or not scaler.is_enabled():
                return original(scaler, optimizer, *arguments, **options)
            self._scene.scaler = scaler
            self._updated.discard(id(mine))
            result = original(scaler, optimizer, *arguments, **options)
            if id(mine) not in self._updated:
                self.acted = True
                self._run(Moment.SKIPPED, mine)
            return result

        return step

    def _total_norm(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def note(tensors: Any, norm_type: float = 2.0, *arguments: Any, **options: Any) -> None:
            self._norm_type = float(norm_type)

        def total(*arguments: Any, **options: Any) -> Any:
            self._look(note, arguments, options)
            return original(*arguments, **options)

        return total

    def _norm_clip(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def note(parameters: Any, max_norm: float, total_norm: Tensor, *arguments: Any, **options: Any) -> None:
            many = [parameters] if isinstance(parameters, Tensor) else list(parameters)
            if self._concerns(many):
                self._run(Moment.CLIPPED, many, float(max_norm), total_norm if self._norm_type == 2.0 else None)

        def clip(*arguments: Any, **options: Any) -> Any:
            if arguments and not isinstance(arguments[0], (Tensor, Sequence)):
                arguments = (list(arguments[0]), *arguments[1:])  # what can be gone through only once
            self._look(note, arguments, options)
            return original(*arguments, **options)

        return clip

    def _value_clip(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """``clip_grad_value_`` groups its gradients with this; so does the norm, for which it is called below ``_get_total_norm``."""

        def note(tensors: Any, *arguments: Any, **options: Any) -> None:
            if found := self._gradients(tensors):
                self._run(Moment.CLIPPED, found, None, None)

        def group(*arguments: Any, **options: Any) -> Any:
            if sys._getframe(1).f_code.co_name == "clip_grad_value_":
                self._look(note, arguments, options)
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


def _kinds(kind: type) -> Iterator[type]:
    """A class and all that are made of it."""
    yield kind
    for one in kind.__subclasses__():
        yield from _kinds(one)
