"""Gradient flow, update and mode (preflight 4): which weights get no gradient, are in no optimizer, or stay as they are in a step."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import clip_grad
from torch.optim import Optimizer

from sismo.errors import UsageError
from sismo.probes import step
from sismo.probes.step import LossFn
from sismo.probes.tensors import finite
from sismo.probes.untouched import untouched
from sismo.records.probing import ProbeReport, word
from sismo.records.types import Note

Loop = Callable[[nn.Module, Any, Optimizer], Any]
"""``loop(model, batch, optimizer)`` takes one step as the training loop does: loss, backward, clipping, update, zero_grad."""

_PILED = 1.5
"""Second gradient over the first, on one batch with the update held back: 1 when they are cleared, 2 when they pile up."""
_NOISE = 1e-4
"""Relative gap between two runs of one batch that the order of sums explains on an accelerator."""
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
        weights: every parameter. steady: whether a batch evaluated twice in evaluation mode has one loss.
        piles_up, clips_scaled, trains: what the loop was seen to do, ``trains`` in training mode; None without a loop.
        times_piled: gradient of the second step over the first. times_scaled: norm at the clip over that of the loss's own gradient.
    """

    weights: tuple[Weight, ...]
    steady: bool = True
    piles_up: bool | None = None
    clips_scaled: bool | None = None
    trains: bool | None = None
    times_piled: float = math.nan
    times_scaled: float = math.nan

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
            (self.cut_off, Note("cut-off", "{count} of the trained parameters {count:gets|get} no gradient, {first} first.")),
            (self.not_held, Note("not-held", "{count} of the trained parameters {count:is|are} in no optimizer, {first} first.")),
            (self.unchanged, Note("unchanged", "{count} {count:parameter is|parameters are} not changed by a step, {first} first.")),
        ]
        notes = [note._replace(numbers={"count": len(names), "first": names[0]}) for names, note in found if names]
        if self.piles_up:
            notes.append(
                Note(
                    "piles-up",
                    "Gradients pile up: the second step on a batch has {times:.2g} times the gradient of the first, as what was left there "
                    "is added to. optimizer.zero_grad() is missing, or comes between backward() and the step.",
                    {"times": self.times_piled},
                )
            )
        if self.clips_scaled:
            notes.append(
                Note(
                    "clips-scaled",
                    "Gradients are clipped before they are unscaled: where the clip acts, their norm is {times:.6g} times that of the "
                    "loss, which is the loss scale. scaler.unscale_(optimizer) belongs between backward() and the clip.",
                    {"times": self.times_scaled},
                )
            )
        if not self.steady:
            notes.append(
                Note("unsteady", "Evaluated twice in evaluation mode, the same batch has two losses: something is drawn at random.")
            )
        if self.trains is False:
            notes.append(Note("evaluates", "The loop takes its step with model.training = False."))
        data: dict[str, object] = {"flow": "cut-off" if self.cut_off else "sound"}
        stepped = any(one.change is not None for one in self.weights)
        if stepped:
            data |= {"held": "no" if self.not_held else "yes", "update": "nothing" if self.unchanged else "changes"}
        data["eval_twice"] = "agrees" if self.steady else "differs"
        if self.trains is not None:
            data["training_mode"] = "on" if self.trains else "off"
        data |= {
            key: "yes" if said else "no"
            for key, said in (("piles_up", self.piles_up), ("clips_scaled", self.clips_scaled))
            if said is not None
        }
        where = [*self.cut_off, *self.not_held, *self.unchanged]
        if where:
            data["where"] = where[0]
        sound = (
            Note("flow-sound", "The gradient reaches every trained parameter, and a step changes each of them.")
            if stepped
            else Note("flow-reaches", "The gradient reaches every trained parameter; what a step does needs the optimizer as the third.")
        )
        columns = (word("parameter"), word("trained"), word("gradient"), word("in the optimizer"), word("relative update"))
        return ProbeReport(
            "flow", bool(notes), notes[0] if notes else sound, data, columns, tuple(map(_row, self.weights)), tuple(notes[1:])
        )


def flow(model: nn.Module, batch: Any, loss_fn: LossFn, optimizer: Optimizer | None = None, loop: Loop | None = None) -> Flow:
    """Takes one step and looks at every parameter; with ``loop``, two steps as the training loop takes them. All is left as it was.

    Without an optimizer, only what gets no gradient is known. Raises ``UsageError`` for a loss or a gradient that is not finite, and when
    the loop fails or takes no step.
    """
    with untouched(model, optimizer) as loan:
        loss = step.loss_of(model, batch, loss_fn)
        step.backward(loss)
        held = {id(parameter) for group in optimizer.param_groups for parameter in group["params"]} if optimizer is not None else None
        before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
        norm = step.grad_norm(model)
        lost = "loss" if not finite(loss) else "gradient" if not math.isfinite(norm) else ""
        if lost:
            raise UsageError(
                f"the {lost} of this batch is not finite, so that there is no flow to see; sismo probe nan says where it is lost"
            )
        gradients = {name: _norm(parameter.grad) for name, parameter in model.named_parameters()}
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
        loan.rewind()
        steady = _steady(model, batch, loss_fn)
        if optimizer is None or loop is None:
            return Flow(weights, steady)
        loan.rewind()
        return _watched(Flow(weights, steady), model, batch, optimizer, loop, norm)


def _steady(model: nn.Module, batch: Any, loss_fn: LossFn) -> bool:
    """Whether one batch has the same loss twice in evaluation mode; two that are no numbers are the same."""
    model.eval()
    with torch.no_grad():
        one, other = (float(step.loss_of(model, batch, loss_fn)) for _ in range(2))
    return math.isclose(one, other, rel_tol=_NOISE) or not (math.isfinite(one) or math.isfinite(other))


def _watched(found: Flow, model: nn.Module, batch: Any, optimizer: Optimizer, loop: Loop, norm: float) -> Flow:
    """Whether gradients pile up, whether scaled ones are clipped, and whether the model trains, in two steps that update nothing.

    What no optimizer holds is cleared by none, and piles up without being used: only what is held counts.
    """
    held = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    seen: list[float] = []
    modes: list[bool] = []
    clips: list[tuple[float, float]] = []
    random = torch.get_rng_state()
    for group in optimizer.param_groups:
        group["lr"] = group["lr"] * 0.0

    def look(*_: Any) -> None:
        seen.append(step.norm_of(held))
        modes.append(model.training)

    handle = optimizer.register_step_pre_hook(look)
    try:
        with _clipping(lambda total: clips.append((total, step.norm_of(held)))):
            for _ in range(2):
                torch.set_rng_state(random)
                loop(model, batch, optimizer)
    except Exception as error:
        raise UsageError(f"the loop failed: {step.one_line(error)}") from error
    finally:
        handle.remove()
    if not modes:
        raise UsageError("the loop took no step of the optimizer: there is nothing to look at")
    # Clipping hides what piled up, so that where there is a clip the norm before it counts.
    first, second = ([own for _, own in clips] if len(clips) >= 2 else [*seen, 0.0, 0.0])[:2]
    return replace(
        found,
        piles_up=second > _PILED * first > 0.0,
        clips_scaled=bool(clips) and clips[0][0] > _CLIPPED * norm > 0.0,
        trains=all(modes),
        times_piled=second / first if first else math.nan,
        times_scaled=clips[0][0] / norm if clips and norm else math.nan,
    )


@contextmanager
def _clipping(noted: Callable[[float], None]) -> Iterator[None]:
    """Notes every total norm that gradients are clipped by, before they are; loops have imported ``clip_grad_norm_`` itself long ago."""
    original = clip_grad._clip_grads_with_norm_

    def clip(parameters: Any, max_norm: float, total_norm: Tensor, *arguments: Any, **options: Any) -> Any:
        noted(float(total_norm))
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
