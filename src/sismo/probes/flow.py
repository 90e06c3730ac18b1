"""Gradient flow and update (preflight 4): which weights get no gradient, which no optimizer holds, which a step leaves as they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import clip_grad
from torch.optim import Optimizer

from sismo.probes import step
from sismo.probes.step import LossFn
from sismo.probes.untouched import untouched
from sismo.records.probing import ProbeReport, word
from sismo.records.types import Note

Loop = Callable[[nn.Module, Any, Optimizer], Any]
"""``loop(model, batch, optimizer)`` takes one step as the training loop does: loss, backward, clipping, update, zero_grad."""

_PILED = 1.5
"""Second gradient over the first, on one batch with the update held back: 1 when they are cleared, 2 when they pile up."""
_CLIPPED = 10
"""Norm at the clip over the norm of the loss's own gradients: over it, and the gradients that are clipped are scaled ones."""


@dataclass(frozen=True, slots=True)
class Weight:
    """One parameter. ``change`` is the norm of its update over its own; None without an optimizer."""

    name: str
    trained: bool
    gradient: float | None
    held: bool
    change: float | None


@dataclass(frozen=True, slots=True)
class Flow:
    """Where the gradient of a batch gets to, and what a step does with it.

    Attributes:
        weights: every parameter. piles_up, clips_scaled: what the loop was seen to do; None without a loop.
    """

    weights: tuple[Weight, ...]
    piles_up: bool | None = None
    clips_scaled: bool | None = None

    @property
    def cut_off(self) -> tuple[str, ...]:
        """Parameters that are meant to be trained and get no gradient, or one of zeros."""
        return tuple(one.name for one in self.weights if one.trained and not one.gradient)

    @property
    def not_held(self) -> tuple[str, ...]:
        """Parameters with a gradient that the optimizer does not hold."""
        return tuple(one.name for one in self.weights if one.trained and not one.held)

    @property
    def unchanged(self) -> tuple[str, ...]:
        """Parameters with a gradient and an optimizer that a step leaves as they are."""
        return tuple(one.name for one in self.weights if one.gradient and one.held and one.change == 0.0)

    def report(self) -> ProbeReport:
        """The result for a run and a reader."""
        found = [
            (self.cut_off, Note("cut-off", "{count} of the trained parameters get no gradient, {first} first.")),
            (self.not_held, Note("not-held", "{count} of the trained parameters are in no optimizer, {first} first.")),
            (self.unchanged, Note("unchanged", "{count} parameters are not changed by a step, {first} first.")),
        ]
        notes = [note._replace(numbers={"count": len(names), "first": names[0]}) for names, note in found if names]
        if self.piles_up:
            notes.append(Note("piles-up", "Gradients pile up: the second step on a batch has the gradient of the first in it."))
        if self.clips_scaled:
            notes.append(Note("clips-scaled", "Gradients are clipped before they are unscaled: the bound acts on the loss scale."))
        data: dict[str, object] = {"flow": "cut-off" if self.cut_off else "sound", "held": "no" if self.not_held else "yes"}
        data["update"] = "nothing" if self.unchanged else "changes"
        data |= {
            key: "yes" if said else "no"
            for key, said in (("piles_up", self.piles_up), ("clips_scaled", self.clips_scaled))
            if said is not None
        }
        where = [*self.cut_off, *self.not_held, *self.unchanged]
        if where:
            data["where"] = where[0]
        sound = Note("flow-sound", "The gradient reaches every trained parameter, and a step changes each of them.")
        columns = (word("parameter"), word("trained"), word("gradient"), word("in the optimizer"), word("relative update"))
        return ProbeReport(
            "flow", bool(notes), notes[0] if notes else sound, data, columns, tuple(map(_row, self.weights)), tuple(notes[1:])
        )


def flow(model: nn.Module, batch: Any, loss_fn: LossFn, optimizer: Optimizer | None = None, loop: Loop | None = None) -> Flow:
    """Takes one step and looks at every parameter; with ``loop``, two steps as the training loop takes them. All is left as it was.

    Without an optimizer, only what gets no gradient is known.
    """
    with untouched(model, optimizer) as loan:
        step.backward(step.loss_of(model, batch, loss_fn))
        held = {id(parameter) for group in optimizer.param_groups for parameter in group["params"]} if optimizer is not None else None
        before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
        gradients = {name: _norm(parameter.grad) for name, parameter in model.named_parameters()}
        norm = step.grad_norm(model)
        if optimizer is not None:
            optimizer.step()
        weights = tuple(
            Weight(
                name,
                parameter.requires_grad,
                gradients[name],
                held is None or id(parameter) in held,
                None if optimizer is None else float((parameter.detach() - before[name]).norm() / before[name].norm().clamp_min(1e-12)),
            )
            for name, parameter in model.named_parameters()
        )
        if optimizer is None or loop is None:
            return Flow(weights)
        loan.rewind()
        return Flow(weights, *_watched(model, batch, optimizer, loop, norm))


def _watched(model: nn.Module, batch: Any, optimizer: Optimizer, loop: Loop, norm: float) -> tuple[bool, bool]:
    """Whether gradients pile up, and whether scaled ones are clipped, in two steps of the loop that update nothing."""
    seen: list[float] = []
    clipped: list[float] = []
    random = torch.get_rng_state()
    for group in optimizer.param_groups:
        group["lr"] = group["lr"] * 0.0
    handle = optimizer.register_step_pre_hook(lambda *_: seen.append(step.grad_norm(model)))
    try:
        with _clipping(clipped):
            for _ in range(2):
                torch.set_rng_state(random)
                loop(model, batch, optimizer)
    finally:
        handle.remove()
    # Clipping hides what piled up, so that where there is a clip the norm before it counts.
    first, second = (clipped if len(clipped) >= 2 else [*seen, 0.0, 0.0])[:2]
    return second > _PILED * first > 0.0, bool(clipped) and clipped[0] > _CLIPPED * norm > 0.0


@contextmanager
def _clipping(norms: list[float]) -> Iterator[None]:
    """Notes every total norm that gradients are clipped by; loops have imported ``clip_grad_norm_`` itself long ago."""
    original = clip_grad._clip_grads_with_norm_

    def clip(parameters: Any, max_norm: float, total_norm: Tensor, *arguments: Any, **options: Any) -> Any:
        norms.append(float(total_norm))
        return original(parameters, max_norm, total_norm, *arguments, **options)

    clip_grad._clip_grads_with_norm_ = clip
    try:
        yield
    finally:
        clip_grad._clip_grads_with_norm_ = original


def _norm(gradient: Tensor | None) -> float | None:
    return None if gradient is None else float(gradient.to_dense().double().norm())


def _row(one: Weight) -> tuple[str, ...]:
    gradient = "–" if one.gradient is None else f"{one.gradient:.3g}"
    change = "" if one.change is None else f"{one.change:.2g}"
    return (one.name, word("yes") if one.trained else word("no"), gradient, word("yes") if one.held else word("no"), change)
