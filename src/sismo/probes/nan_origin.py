"""Where the first non-finite number of a step comes from (S1.Q3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from sismo.probes import step
from sismo.probes.backtrace import Backtrace
from sismo.probes.frames import owner, visited
from sismo.probes.origins import Check, Kind, Origin
from sismo.probes.step import LossFn
from sismo.probes.tensors import describe, finite, named
from sismo.probes.trace import HIDDEN, Fault, Trace
from sismo.probes.untouched import Loan, untouched


def nan_origin(
    model: nn.Module,
    batch: Any,
    loss_fn: LossFn,
    optimizer: Optimizer | None = None,
    *,
    autocast: torch.dtype | None = None,
    loss_scale: float = 1.0,
    clip: float | None = None,
) -> Origin:
    """Takes one step with finite checks in the order in which it runs; names the first number that is non-finite with finite inputs.

    Checked are the batch, the weights, every operation and module of the forward pass, the loss, the backward pass, the gradients, and
    with an optimizer its state and its update. Everything is left as it was, bit for bit (see ``untouched``). An infinity that the code
    writes down itself, as attention masks do, is none unless it reaches the loss.

    Arguments:
        batch: what ``loss_fn(model, batch)`` takes. autocast: a dtype to run the forward pass in, where ``loss_fn`` does not do so itself.
        loss_scale: what the loss is multiplied by before the backward pass. clip: the bound of the gradient norm, as in the loop.

    Raises ``UsageError`` when ``loss_fn`` fails or returns no loss.
    """
    with untouched(model, optimizer, loss_fn) as loan:
        return _Search(model, batch, loss_fn, optimizer, autocast, loss_scale, clip).run(loan)


class _Search:
    def __init__(
        self, model: nn.Module, batch: Any, loss_fn: LossFn, optimizer: Optimizer | None, autocast: torch.dtype | None, scale: float,
        clip: float | None,
    ) -> None:  # fmt: skip
        self._model, self._batch, self._loss_fn, self._optimizer = model, batch, loss_fn, optimizer
        self._autocast, self._scale, self._clip = autocast, scale, clip
        self._trail: list[Check] = []

    def run(self, loan: Loan) -> Origin:
        fault = self._forward()
        if fault is None:
            loan.rewind()
            fault = self._backward()
        if fault is None and self._optimizer is not None:
            fault = self._update(self._optimizer)
        if fault is None:
            return Origin(None, trail=tuple(self._trail))
        return Origin(fault.kind, fault.phase, fault.module, fault.op, fault.inputs, fault.output, tuple(self._trail))

    def _forward(self) -> Fault | None:
        parents = {owner(name) for name, module in self._model.named_modules() if name}
        trace = Trace("loss", frozenset(name for name, _ in self._model.named_modules() if name and name not in parents))
        for name, tensor in named(self._batch, "" if isinstance(self._batch, (Mapping, list, tuple)) else "batch"):
            trace.known_as(tensor, Kind.BAD_INPUT, "inputs", name)
        for name, parameter in self._model.named_parameters():
            trace.known_as(parameter, Kind.BAD_WEIGHT, "weights", name, owner(name))
        for name, buffer in self._model.named_buffers():
            trace.known_as(buffer, Kind.FORWARD, "buffers", name, owner(name))
        with visited(self._model, trace), trace:
            loss = step.loss_of(self._model, self._batch, self._loss_fn, self._autocast)
        self._trail = trace.trail
        found = trace.origin_of(loss)
        if found is None and not finite(loss):
            return Fault(Kind.LOSS, "loss", "", "the loss", 0, (), describe(loss, "result"))
        return found._replace(kind=Kind.BAD_WEIGHT, phase="weights") if found is not None and found.phase == "buffers" else found

    def _backward(self) -> Fault | None:
        graph = Backtrace()
        with visited(self._model, graph):
            loss = step.loss_of(self._model, self._batch, self._loss_fn, self._autocast)
        graph.claim([loss], "")
        hooks = graph.watch()
        try:
            step.backward(loss, self._scale)
        finally:
            for hook in hooks:
                hook.remove()
        self._trail += graph.trail
        lost = [(name, gradient) for name, gradient in self._gradients() if not finite(gradient)]
        if not lost:
            step.unscale(self._model, self._scale)
            return None
        name, gradient = lost[0]
        # No node is to blame: gradients of one parameter from several places, each finite, do not fit together.
        summed = Fault(Kind.BACKWARD, "backward", owner(name), "sum of gradients", 0, (), describe(gradient, name))
        return graph.fault or summed

    def _gradients(self) -> list[tuple[str, Tensor]]:
        found = [(name, parameter.grad) for name, parameter in self._model.named_parameters() if parameter.grad is not None]
        self._trail += [Check("gradients", owner(name), name, describe(gradient)) for name, gradient in found]
        return found

    def _update(self, optimizer: Optimizer) -> Fault | None:
        names = {parameter: name for name, parameter in self._model.named_parameters()}
        for group in optimizer.param_groups:
            for key, value in group.items():
                if isinstance(value, (float, Tensor)) and not finite(torch.as_tensor(value)):
                    return Fault(Kind.OPTIMIZER, "optimizer-state", "", key, 0, (describe(torch.as_tensor(value), key),), None)
        if fault := self._state(optimizer, names):
            return fault
        if self._clip is not None:
            nn.utils.clip_grad_norm_(self._model.parameters(), self._clip)
        for group in optimizer.param_groups:
            # One parameter after the other, so that each operation belongs to one of them.
            group.update({key: False for key in ("foreach", "fused") if key in group})
        trace = Trace("update")
        with torch.no_grad(), trace:
            step.update(optimizer, lambda: step.loss_of(self._model, self._batch, self._loss_fn, self._autocast))
        for parameter, name in names.items():
            self._trail.append(Check("update", owner(name), name, describe(parameter)))
            if not finite(parameter):
                unseen = Fault(Kind.OPTIMIZER, "update", owner(name), HIDDEN, 0, (), describe(parameter, name))
                return (trace.origin_of(parameter) or unseen)._replace(module=owner(name), kind=Kind.OPTIMIZER, phase="update")
        return self._state(optimizer, names)

    def _state(self, optimizer: Optimizer, names: Mapping[nn.Parameter, str]) -> Fault | None:
        for parameter, name in names.items():
            for key, value in optimizer.state.get(parameter, {}).items():
                if isinstance(value, Tensor):
                    seen = describe(value, f"{key} of {name}")
                    self._trail.append(Check("optimizer-state", owner(name), seen.name, seen))
                    if not seen.finite:
                        return Fault(Kind.OPTIMIZER, "optimizer-state", owner(name), key, 0, (seen,), seen)
        return None
