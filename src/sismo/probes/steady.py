"""Whether a model in evaluation mode answers the same twice; and if not, which part of it draws at random."""

from __future__ import annotations

import math
from enum import StrEnum
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from sismo.probes import step
from sismo.probes.frames import visited
from sismo.probes.step import LossFn
from sismo.probes.tensors import tensors
from sismo.probes.trace import plain_name
from sismo.probes.untouched import Loan

_NOISE = 1e-4
"""Relative gap between two runs of one batch that the order of sums explains on an accelerator."""


class Draws(StrEnum):
    """What draws at random in evaluation mode."""

    NOTHING = "nothing"
    DROPOUT = "dropout"
    MODEL = "model"
    LOSS = "loss"


class Steady(NamedTuple):
    """``draws`` is what the two losses differ by, and ``where`` the innermost module that gives two answers to one input."""

    draws: Draws
    where: str = ""


def steady(model: nn.Module, batch: Any, loss_fn: LossFn, loan: Loan) -> Steady:
    """Evaluates a batch twice, each time from the same state, with other random numbers; two losses that are no numbers are the same.

    A loss may draw on purpose, as that of a diffusion model does for the noise that it adds; so may a model that samples. A dropout never
    does so in evaluation mode. Only where a module gives two answers to one input is it the model.
    """
    losses, calls = list[float](), list[_Calls]()
    with _Ops() as ops:
        for seed in range(2):
            loan.rewind()
            torch.manual_seed(seed)
            model.eval()
            calls.append(_Calls())
            with visited(model, calls[-1]):
                losses.append(float(step.loss_of(model, batch, loss_fn).detach()))
    one, other = losses
    if math.isclose(one, other, rel_tol=_NOISE) or not (math.isfinite(one) or math.isfinite(other)):
        return Steady(Draws.NOTHING)
    for mine, its in zip(calls[0].seen, calls[1].seen, strict=False):
        if _alike(mine.inputs, its.inputs) and not _alike(mine.outputs, its.outputs):
            return Steady(Draws.DROPOUT if ops.drops else Draws.MODEL, mine.name or type(model).__name__)
    return Steady(Draws.LOSS)


class _Seen(NamedTuple):
    name: str
    inputs: list[Tensor]
    outputs: list[Tensor]


class _Calls:
    """What every module got and gave, in the order in which they returned."""

    def __init__(self) -> None:
        self.seen: list[_Seen] = []

    def entered(self, name: str, inputs: Any) -> None:
        """Nothing is known yet."""

    def left(self, name: str, inputs: Any, output: Any) -> None:
        """A module returns."""
        self.seen.append(_Seen(name, list(tensors(inputs)), list(tensors(output))))


class _Ops(TorchDispatchMode):
    """Notes whether numbers are dropped."""

    drops = False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = plain_name(func)
        self.drops = self.drops or "dropout" in name or name.startswith("bernoulli")
        return func(*args, **(kwargs or {}))


def _alike(mine: list[Tensor], its: list[Tensor]) -> bool:
    return len(mine) == len(its) and all(
        one.shape == other.shape and torch.allclose(one.double(), other.double(), rtol=_NOISE, atol=0.0, equal_nan=True)
        for one, other in zip(mine, its, strict=True)
    )
