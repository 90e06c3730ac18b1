"""Ties torch to the moments of ``events.Moment``: the optimizers, their scaler and the model's own call; the rest lies beside this file."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from functools import partial, wraps
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer
from torch.utils.hooks import RemovableHandle

from sismo.recorder import criteria
from sismo.recorder.backward import Backward
from sismo.recorder.catching import Catcher, Tell
from sismo.recorder.clipping import Clipping
from sismo.recorder.events import Moment
from sismo.recorder.hook import Hook, elsewhere, taken_off
from sismo.recorder.scene import Scene
from sismo.recorder.shield import Shield


class Hooks:
    """Everything that is hung into torch for one recorder. ``tell(moment, ...)`` is called at each moment, inside the shield."""

    def __init__(self, scene: Scene, shield: Shield, tell: Tell) -> None:
        self._scene = scene
        self._catcher = Catcher(shield, tell)
        self._backward = Backward(self._catcher, scene)
        self._updated: set[int] = set()
        self._called = self._root_called = self._part_called = False
        self._root: RemovableHandle | None = None
        self._parts: dict[nn.Module, RemovableHandle] = {}
        self.tap_at_call = self.unseen = False
        self.acted = False
        self._optimizers = weakref.WeakSet(scene.optimizers)

    def hang(self) -> None:
        """Sets all hooks."""
        for optimizer in self._scene.optimizers:
            for handle in (optimizer.register_step_pre_hook(self._before), optimizer.register_step_post_hook(self._after)):
                self._catcher.later(handle.remove)
        for kind in _kinds(torch.amp.GradScaler):
            for name, make in (("scale", self._scaler_scale), ("step", self._scaler_step)):
                if name in vars(kind):
                    self._catcher.catch(kind, name, make)
        # Not ``script`` itself, which looks at who calls it.
        self._catcher.catch(torch.jit._recursive, "create_script_module", self._script)  # pyright: ignore[reportAttributeAccessIssue]
        self._backward.hang()
        Clipping(self._catcher, self._scene).hang()
        criteria.hang(self._catcher)
        if not self._scene.compiled:
            self._root = self._scene.root.register_forward_pre_hook(Hook(partial(self._look, self._forward)), with_kwargs=True)
            self._catcher.later(self.let_go_of_modules)
            self._await_parts()

    def take_down(self) -> None:
        """Removes them, last one first."""
        self._catcher.put_back()

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

    def _look(self, note: Callable[..., None], *given: Any) -> None:
        self._catcher.look(note, given, {})

    def _forward(self, module: nn.Module, arguments: tuple[Any, ...], options: dict[str, Any]) -> None:
        if not torch.is_grad_enabled():
            for taps in self._scene.taps:
                taps.rest()
            if len(self._parts) > 1:
                self._let_go_of_parts()
            self._catcher.run(Moment.EVALUATED, module.training)
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
                self._catcher.run(Moment.INPUTS, arguments, options)

    def _await_parts(self) -> None:
        """Where a loop calls the parts of its model one by one, the inputs are those of the part that it calls first.

        Which one that is shows the first time, and after it only that part is waited for; none is, once the model itself was called.
        """
        for module in self._scene.root.modules():
            if module is not self._scene.root and module not in self._parts and not isinstance(module, torch.jit.ScriptModule):
                self._parts[module] = module.register_forward_pre_hook(Hook(partial(self._look, self._part)), with_kwargs=True)

    def _let_go_of_parts(self, *, but: nn.Module | None = None) -> None:
        for module in [module for module in self._parts if module is not but]:
            self._parts.pop(module).remove()

    def _part(self, module: nn.Module, arguments: tuple[Any, ...], options: dict[str, Any]) -> None:
        if self._called or self._part_called or not (module.training and torch.is_grad_enabled()):
            return
        self._part_called = True
        self._let_go_of_parts(but=module)
        self._catcher.run(Moment.INPUTS, arguments, options)

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
        self._catcher.run(Moment.BEFORE_UPDATE, optimizer)
        return None

    def _told_after(self, closure: Callable[..., Any], optimizer: Optimizer) -> Callable[..., Any]:
        """The closure, after whose first call the gradients of the step are there."""
        told = False

        @wraps(closure)
        def call(*arguments: Any, **options: Any) -> Any:
            nonlocal told
            with self._backward.repeated(told):
                result = closure(*arguments, **options)
            if not told:
                told = True
                self._catcher.run(Moment.BEFORE_UPDATE, optimizer)
            return result

        return call

    def _after(self, optimizer: Optimizer, arguments: Any, options: Any) -> None:
        self._catcher.run(Moment.AFTER_UPDATE, optimizer)

    def _scaler_scale(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def scale(scaler: Any, *arguments: Any, **options: Any) -> Any:
            if scaler.is_enabled():
                self._scene.scaler = scaler
            result = original(scaler, *arguments, **options)
            self._backward.scaled(result if scaler.is_enabled() else None)
            return result

        return scale

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
                self._catcher.run(Moment.SKIPPED, mine)
            return result

        return step


def _kinds(kind: type) -> Iterator[type]:
    """A class and all that are made of it."""
    yield kind
    for one in kind.__subclasses__():
        yield from _kinds(one)
