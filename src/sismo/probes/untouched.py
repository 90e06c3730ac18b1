"""A model and its optimizer are lent to an experiment and given back as they were, bit for bit."""

from __future__ import annotations

import copy
import random
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from sismo.probes.generators import held

_OWN = frozenset(nn.Module().__dict__)
"""What torch itself keeps in every module."""


class Loan:
    """What a model, an optimizer and the random numbers were when they were lent."""

    def __init__(self, model: nn.Module, optimizer: Optimizer | None = None, around: Sequence[Any] = ()) -> None:
        self._modules = [(module, dict(module.__dict__)) for module in model.modules()]
        kept = [value for _, plain in self._modules for name, value in plain.items() if name not in _OWN]
        self._holders = [(holder, copy.copy(holder)) for holder in kept if isinstance(holder, (list, deque, dict, set))]
        tables = [module.__dict__[name] for module, _ in self._modules for name in ("_parameters", "_buffers")]
        self._tables = [(table, dict(table)) for table in tables]
        tensors = [tensor for _, table in self._tables for tensor in table.values()]
        tensors += [tensor for tensor in kept if isinstance(tensor, Tensor)]
        self._tensors = [_Copy(tensor) for tensor in {id(tensor): tensor for tensor in tensors if tensor is not None}.values()]
        self._gradients = [(parameter, parameter.grad) for parameter in model.parameters()]
        self._optimizer = _OptimizerCopy(optimizer) if optimizer is not None else None
        self._random = random_state()
        self._generators = held(around, model)

    def rewind(self) -> None:
        """Puts everything back but the gradients, which are none during an experiment."""
        for holder, kept in (*((module.__dict__, kept) for module, kept in self._modules), *self._tables):
            holder.clear()
            holder.update(kept)
        for holder, content in self._holders:
            holder.clear()
            holder.extend(content) if isinstance(holder, (list, deque)) else holder.update(content)
        for tensor in self._tensors:
            tensor.restore()
        for parameter, _ in self._gradients:
            parameter.grad = None
        if self._optimizer is not None:
            self._optimizer.restore()
        set_random_state(self._random)
        for restore in self._generators:
            restore()

    def give_back(self) -> None:
        """Puts everything back, gradients too."""
        self.rewind()
        for parameter, gradient in self._gradients:
            parameter.grad = gradient


@contextmanager
def untouched(model: nn.Module, optimizer: Optimizer | None = None, *around: Any) -> Iterator[Loan]:
    """Lends a model and its optimizer: inside, gradients are on and none are there; afterwards all is as it was.

    What is put back: parameters, buffers, gradients, attributes of modules, optimizer state and settings, and the random numbers of
    Python, numpy and torch, with the generators that the model or the functions ``around`` it hold. What lies deeper than a list or a
    mapping in a plain attribute is not, nor what a function counts.
    """
    loan = Loan(model, optimizer, around)
    try:
        loan.rewind()
        with torch.enable_grad():
            yield loan
    finally:
        loan.give_back()


class _Copy:
    """A tensor and its bits."""

    def __init__(self, tensor: Tensor) -> None:
        # ``data`` is another handle on the same memory: writing through it does not count as a change to autograd.
        self._tensor, self._memory, self._bits = tensor, tensor.data, tensor.detach().clone()

    def restore(self) -> None:
        if self._tensor.dtype != self._memory.dtype or self._tensor.data_ptr() != self._memory.data_ptr():
            self._tensor.data = self._memory
        self._memory.copy_(self._bits)


class _OptimizerCopy:
    """An optimizer's settings and state."""

    def __init__(self, optimizer: Optimizer) -> None:
        self._optimizer = optimizer
        self._attributes = dict(optimizer.__dict__)
        self._groups = [(group, dict(group), list(group["params"])) for group in optimizer.param_groups]
        self._state = {
            parameter: {key: list(value) if isinstance(value, list) else value for key, value in state.items()}
            for parameter, state in optimizer.state.items()
        }
        inner = [value for state in self._state.values() for value in state.values()]
        inner += [value for _, kept, _ in self._groups for value in kept.values()]
        self._tensors = [_Copy(value) for value in inner if isinstance(value, Tensor)]

    def restore(self) -> None:
        optimizer = self._optimizer
        optimizer.__dict__.clear()
        optimizer.__dict__.update(self._attributes)
        for group, kept, parameters in self._groups:
            group.clear()
            group.update({**kept, "params": parameters})
        optimizer.state.clear()
        for parameter, state in self._state.items():
            optimizer.state[parameter] = {key: list(value) if isinstance(value, list) else value for key, value in state.items()}
        for tensor in self._tensors:
            tensor.restore()


def random_state() -> tuple[Any, ...]:
    """Where the random numbers of Python, numpy and torch are."""
    cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else None
    return random.getstate(), np.random.get_state(), torch.get_rng_state(), cuda


def set_random_state(state: tuple[Any, ...]) -> None:
    """Puts them back to where they were."""
    random.setstate(state[0])
    np.random.set_state(state[1])
    torch.set_rng_state(state[2])
    if state[3] is not None:
        torch.cuda.set_rng_state_all(state[3])
