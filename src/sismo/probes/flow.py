"""Gradient flow, update and mode (preflight 4): which weights get no gradient, are in no optimizer, or stay as they are in a step."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from sismo.errors import UsageError
from sismo.probes import step
from sismo.probes.reach import idle, reached_later
from sismo.probes.steady import Draws, Steady, steady
from sismo.probes.step import LossFn
from sismo.probes.tensors import finite
from sismo.probes.untouched import Loan, untouched
from sismo.probes.watched import Loop, watch
from sismo.records.probing import ProbeReport, word
from sismo.records.types import Note

_PILED = 1.5
"""Second gradient over the first, on one batch with the update held back: 1 when they are cleared, 2 when they pile up."""
_SCALED = 10
"""Gradient after the clip over the one that the optimizer gets: 1, or the loss scale where it is divided away only after the clip."""
_LOST = 0.1
"""Share of the whole gradient from which it matters that the updates of some parameters are lost to rounding."""


@dataclass(frozen=True, slots=True)
class Weight:
    """One parameter.

    Attributes:
        change: the norm of its update over its own, infinite where that was 0; None without an optimizer.
        rounded: whether it is 0 by rounding only.
        later: whether its gradient comes after a few steps, when weights before it have left zero.
        idle: whether this batch leaves its layer out, which another would not.
    """

    name: str
    trained: bool
    gradient: float | None
    held: bool
    change: float | None
    rounded: bool = False
    later: bool = False
    idle: bool = False


@dataclass(frozen=True, slots=True)
class Flow:
    """Where the gradient of a batch gets to, and what a step does with it.

    Attributes:
        weights: every parameter. steady: what two losses of one batch in evaluation mode differ by.
        resting: whether every learning rate is 0, as at the beginning of a warm-up, so that no step changes anything.
        piles_up, clips_scaled, trains: what the loop was seen to do, ``trains`` in training mode; None without a loop.
            ``clips_scaled`` also where the loop's gradient is so much larger than that of ``loss_fn`` that it may be scaled for good.
        times_piled: gradient of the second step over the first. times_scaled: gradient after the clip over that of the update.
        times_loop: gradient at the clip over that of ``loss_fn``.
    """

    weights: tuple[Weight, ...]
    steady: Steady
    resting: bool = False
    piles_up: bool | None = None
    clips_scaled: bool | None = None
    trains: bool | None = None
    times_piled: float = math.nan
    times_scaled: float = math.nan
    times_loop: float = math.nan

    @property
    def cut_off(self) -> tuple[str, ...]:
        """Parameters that are meant to be trained and get no gradient, or one of zeros, in this step or in one of the next."""
        return tuple(one.name for one in self.weights if one.trained and not (one.gradient or one.later or one.idle))

    @property
    def left_out(self) -> tuple[str, ...]:
        """Parameters whose layers this batch leaves out."""
        return tuple(one.name for one in self.weights if one.trained and one.idle)

    @property
    def not_held(self) -> tuple[str, ...]:
        """Parameters with a gradient that the optimizer does not hold."""
        return tuple(one.name for one in self.weights if one.trained and not one.held)

    @property
    def unchanged(self) -> tuple[str, ...]:
        """Parameters with a gradient and an optimizer that a step leaves as they are.

        Those whose update is lost to rounding count where they make up a good part of the gradient: some have next to none, as a bias
        before a batch norm, or move too slowly to show in one step, as the gains of a norm.
        """
        if self.resting:
            return ()
        still = [one for one in self.weights if one.gradient and one.held and one.change == 0.0]
        whole = math.hypot(*(one.gradient or 0.0 for one in self.weights))
        lost = math.hypot(*(one.gradient or 0.0 for one in still if one.rounded)) > _LOST * whole
        return tuple(one.name for one in still if lost or not one.rounded)

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
                    "Gradients are clipped before they are unscaled: between the clip and the update they are divided by {times:.6g}, the "
                    "loss scale. scaler.unscale_(optimizer) belongs between backward() and the clip.",
                    {"times": self.times_scaled},
                )
            )
        if self.steady.draws is Draws.DROPOUT:
            notes.append(
                Note(
                    "unsteady",
                    "Evaluated twice in evaluation mode, the same batch has two losses: {where} drops numbers at random there too.",
                    {"where": self.steady.where},
                )
            )
        if self.trains is False:
            notes.append(Note("evaluates", "The loop takes its step with model.training = False."))
        beside = list(self._beside())
        data: dict[str, object] = {"flow": "cut-off" if self.cut_off else "sound"} if self.cut_off or not self.left_out else {}
        stepped = any(one.change is not None for one in self.weights)
        if stepped:
            data["held"] = "no" if self.not_held else "yes"
        if stepped and not self.resting:
            data["update"] = "nothing" if self.unchanged else "changes"
        if self.steady.draws in (Draws.NOTHING, Draws.DROPOUT):
            data["eval_twice"] = "agrees" if self.steady.draws is Draws.NOTHING else "differs"
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
        columns = (word("parameter"), word("trained"), word("gradient"), word("in the optimizer"), word("relative update"))
        rows = tuple(map(_row, self.weights))
        if notes:
            return ProbeReport("flow", True, notes[0], data, columns, rows, (*notes[1:], *beside))
        sound = [*(note for note in beside if note.code == "left-out"), self._sound(stepped)][0]
        rest = tuple(note for note in beside if note is not sound)
        return ProbeReport("flow", False, sound, data, columns, rows, rest, open=bool(self.left_out))

    def _sound(self, stepped: bool) -> Note:
        if not stepped:
            return Note("flow-reaches", "The gradient reaches every trained parameter; what a step does needs the optimizer as the third.")
        if self.resting:
            return Note(
                "flow-rests",
                "The gradient reaches every trained parameter. The learning rate is 0 here, as when a warm-up begins: what a step changes "
                "cannot be seen.",
            )
        return Note("flow-sound", "The gradient reaches every trained parameter, and a step changes each of them.")

    def _beside(self) -> Iterator[Note]:
        """What is to be known and is no fault."""
        later = [one.name for one in self.weights if one.trained and one.later and not one.gradient]
        if self.left_out:
            yield Note(
                "left-out",
                "This batch leaves out layers with {count} parameters, {first} first, as a router does that sends nothing there, or layers "
                "that are dropped at random. Another draw reaches them; whether training does is not known.",
                {"count": len(self.left_out), "first": self.left_out[0]},
            )
        if later:
            yield Note(
                "later",
                "{count} of the trained parameters {count:gets its|get their} gradient only after the first steps, {first} first: weights "
                "before the loss begin at zero.",
                {"count": len(later), "first": later[0]},
            )
        if self.times_loop > _SCALED and not self.clips_scaled:
            yield Note(
                "loop-differs",
                "Where the loop clips, its gradients are {times:.6g} times those of loss_fn: it sums where loss_fn averages, or it scales "
                "the loss and never divides by the scale. The clip cuts that much more.",
                {"times": self.times_loop},
            )
        if self.steady.draws is Draws.MODEL:
            yield Note(
                "draws",
                "Evaluated twice in evaluation mode, the same batch has two losses: {where} draws at random, and nothing is dropped. A "
                "model that samples is meant to.",
                {"where": self.steady.where},
            )
        if self.steady.draws is Draws.LOSS:
            yield Note("loss-draws", "The loss function draws at random: the same batch has two losses, and no module gives two answers.")


def flow(model: nn.Module, batch: Any, loss_fn: LossFn, optimizer: Optimizer | None = None, loop: Loop | None = None) -> Flow:
    """Takes one step and looks at every parameter; with ``loop``, two steps as the training loop takes them. All is left as it was.

    Without an optimizer, only what gets no gradient is known. Raises ``UsageError`` for a loss or a gradient that is not finite, and when
    the loop fails or takes no step.
    """
    with untouched(model, optimizer, loss_fn, loop) as loan:
        loss = step.loss_of(model, batch, loss_fn)
        step.backward(loss)
        norm = step.grad_norm(model)
        lost = "loss" if not finite(loss) else "gradient" if not math.isfinite(norm) else ""
        if lost:
            raise UsageError(
                f"the {lost} of this batch is not finite, so that there is no flow to see; sismo probe nan says where it is lost"
            )
        gradients = {name: _norm(parameter.grad) for name, parameter in model.named_parameters()}
        held = {id(parameter) for group in optimizer.param_groups for parameter in group["params"]} if optimizer is not None else None
        changes = _changes(model, optimizer, lambda: step.loss_of(model, batch, loss_fn), loan) if optimizer is not None else {}
        loan.rewind()
        without = {name for name, parameter in model.named_parameters() if parameter.requires_grad and not gradients[name]}
        later = reached_later(model, batch, loss_fn, lambda one: held is None or id(one) in held) if without else set[str]()
        loan.rewind()
        skipped = idle(model, batch, loss_fn, without - later, loan)
        weights = tuple(
            Weight(
                name,
                parameter.requires_grad,
                gradients[name],
                held is None or id(parameter) in held,
                *changes.get(name, (None, False)),
                later=name in later,
                idle=name in skipped,
            )
            for name, parameter in model.named_parameters()
        )
        found = Flow(
            weights, steady(model, batch, loss_fn, loan), resting=optimizer is not None and not any(map(_rate, optimizer.param_groups))
        )
        if optimizer is None or loop is None:
            return found
        loan.rewind()
        seen = watch(model, batch, optimizer, loop)
        own = math.hypot(*(one.gradient or 0.0 for one in weights if one.held))
        times = seen.clipped / own if own else math.nan
        return replace(
            found,
            piles_up=seen.piled > _PILED,
            clips_scaled=True if seen.scaled > _SCALED else None if times > _SCALED else False,
            times_loop=times,
            trains=seen.trains,
            times_piled=seen.piled,
            times_scaled=seen.scaled,
        )


def _changes(model: nn.Module, optimizer: Optimizer, again: Callable[[], Tensor], loan: Loan) -> dict[str, tuple[float, bool]]:
    """The update of every parameter over its own norm, and whether one of nothing is lost to rounding: at zero there would be one."""
    before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    gradients = {name: parameter.grad for name, parameter in model.named_parameters()}
    step.update(optimizer, again)
    changes = {
        name: _over(float((parameter.detach() - before[name]).norm()), float(before[name].norm()))
        for name, parameter in model.named_parameters()
    }
    still = [name for name, change in changes.items() if change == 0.0]
    if not still:
        return {name: (change, False) for name, change in changes.items()}
    loan.rewind()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.grad = gradients[name]
            if name in still:
                parameter.zero_()
    step.update(optimizer, again)
    rounded = {name for name, parameter in model.named_parameters() if name in still and bool(parameter.detach().any())}
    return {name: (change, name in rounded) for name, change in changes.items()}


def _over(moved: float, size: float) -> float:
    """An update over what it is made to; infinite where that was 0 and is no longer."""
    return moved / size if size else math.inf if moved else 0.0


def _rate(group: Mapping[str, Any]) -> bool:
    """Whether a group of parameters has a learning rate other than 0; one that chooses it by itself has."""
    return group.get("lr") is None or float(group["lr"]) != 0.0


def _norm(gradient: Tensor | None) -> float | None:
    return None if gradient is None else float(gradient.to_dense().double().norm())


def _row(one: Weight) -> tuple[str, ...]:
    gradient = "–" if one.gradient is None else f"{one.gradient:.3g}"
    change = "" if one.change is None else word("from 0") if math.isinf(one.change) else f"{one.change:.2g}"
    return (one.name, word("yes") if one.trained else word("no"), gradient, word("yes") if one.held else word("no"), change)
