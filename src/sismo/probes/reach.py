"""Where a gradient gets to that one step on one batch does not show: behind weights that begin at zero, and in layers left out."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import torch
from torch import nn

from sismo.probes import step
from sismo.probes.frames import owner, visited
from sismo.probes.init import initialised
from sismo.probes.step import LossFn
from sismo.probes.tensors import finite, tensors
from sismo.probes.untouched import Loan

_PEAK = 1e-3
"""Largest move of a weight in one of the small steps: what is behind a zero only has to be seen."""
_ROUNDS = 10
"""Small steps at most; each opens one more layer of weights at zero, of which diffusion transformers have three."""
_DRAWS = 24
"""Times at most that a layer which the batch leaves out is tried with fresh weights: each draw sends a token to one expert or another."""


def reached_later(model: nn.Module, batch: Any, loss_fn: LossFn, moved: Callable[[nn.Parameter], bool]) -> set[str]:
    """Parameters that get a gradient once the weights that ``moved`` says are trained have made a few small steps.

    The layers behind a head, a gate or an adapter that begins at zero get theirs from the second step on.
    """
    reached: set[str] = set()
    for _ in range(_ROUNDS):
        new = _with_gradient(model, batch, loss_fn)
        if new <= reached:
            break
        reached |= new
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.grad is not None and moved(parameter):
                    gradient = parameter.grad.to_dense()
                    parameter.sub_(_PEAK * gradient / gradient.abs().amax().clamp_min(torch.finfo(gradient.dtype).tiny))
    return reached


def idle(model: nn.Module, batch: Any, loss_fn: LossFn, names: Collection[str], loan: Loan) -> set[str]:
    """Of some parameters without gradient, those of layers that this batch leaves out and another draw does not.

    Such are experts that no token is sent to, and layers that are dropped at random. Each try has fresh weights and other random numbers,
    and every second one is in evaluation mode.
    """
    skipped = _skipped(model, batch, loss_fn) if names else set[str]()
    left = {name for name in names if owner(name) in skipped}
    found: set[str] = set()
    for draw in range(_DRAWS):
        if found == left:
            break
        loan.rewind()
        torch.manual_seed(draw)
        initialised(model)
        if draw % 2:
            model.eval()
        found |= _with_gradient(model, batch, loss_fn) & left
    return found


class _Used:
    """The modules that got something: a tensor with a number in it."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def entered(self, name: str, inputs: Any) -> None:
        """A module is called."""
        if any(tensor.numel() for tensor in tensors(inputs)):
            self.names.add(name)

    def left(self, name: str, inputs: Any, output: Any) -> None:
        """What it gives says nothing of whether it was used."""


def _skipped(model: nn.Module, batch: Any, loss_fn: LossFn) -> set[str]:
    used = _Used()
    with visited(model, used):
        step.loss_of(model, batch, loss_fn)
    return {name for name, _ in model.named_modules()} - used.names


def _with_gradient(model: nn.Module, batch: Any, loss_fn: LossFn) -> set[str]:
    model.zero_grad(set_to_none=True)
    loss = step.loss_of(model, batch, loss_fn)
    if not finite(loss):
        return set()
    step.backward(loss)
    return {name for name, one in model.named_parameters() if one.grad is not None and bool(one.grad.to_dense().any())}
