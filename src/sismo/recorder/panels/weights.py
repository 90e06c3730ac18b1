"""Panel 3, the weights: ``weight_norm``, ``update_ratio`` and ``adam_rms``, by block and by optimizer group; ``grad_zero_share/all``.

Formulas, over the weights w that a step found and the change d that it made: ``weight_norm`` sqrt(sum w^2); ``update_ratio`` sqrt(sum
d^2 / sum w^2); ``adam_rms`` sqrt(mean(g^2 / max(v, eps^2))) with Adam's second moment v after the step and without its bias;
``grad_zero_share`` the share of gradient entries that are exactly 0, without embeddings, and only where losses are scaled. Cost: about
six passes over a slice of at most 262,144 weights; slices take turns, and a member is reported once all of its slices were measured, so
its sums may come from different steps of one round. Sources: stability tree S4.Q3, StableAdamW (arXiv 2304.13013), Transformer Engine.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor
from torch.optim import Optimizer

from sismo.recorder import scaled
from sismo.recorder.draft import Job, gathered
from sismo.recorder.local import local, shards
from sismo.recorder.panel import Panel
from sismo.recorder.scene import Scene, Weight
from sismo.records.types import Event

SLICE = 1 << 18
"""Weights in one slice: about half a millisecond of work on one core."""


class Slice(NamedTuple):
    """Entries ``start`` to ``end`` of what this rank has of one parameter, as one row of memory; None is its end."""

    weight: Weight
    start: int
    end: int | None


class WeightsPanel(Panel):
    """Norms of weights and updates, and Adam's RMS."""

    name: ClassVar[str] = "weights"
    of_weights: ClassVar[bool] = True
    at_once: ClassVar[bool] = False

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self._parts = {str(number): slices for number, slices in enumerate(_packed(scene.weights))}
        self._armed: list[str] = []
        self._before: dict[str, list[Tensor]] = {}
        self._found: dict[str, list[Tensor]] = {}
        self._overflows: list[Tensor] = []

    def jobs(self) -> Sequence[Job]:
        return [Job(self.name, part) for part in self._parts]

    def arm(self, parts: Collection[str]) -> None:
        self._armed = list(parts)
        self._before.clear()

    def landed(self, step: int, values: dict[str, float]) -> Sequence[Event]:
        return ()

    def on_before_update(self, optimizer: Optimizer) -> None:
        """Keeps the old weights of this step's slices."""
        for part in self._armed:
            slices = self._parts[part]
            if slices[0].weight.optimizer is optimizer:
                with self.timed(part):
                    self._before[part] = [_cut(one.weight.tensor, one).clone() for one in slices]

    def on_after_update(self, optimizer: Optimizer) -> None:
        """Compares them with the new ones."""
        if self._before and (found := scaled.overflow(optimizer)) is not None:
            self._overflows.append(found)
        for part, before in self._before.items():
            slices = self._parts[part]
            if slices[0].weight.optimizer is optimizer:
                with self.timed(part):
                    self._found[part] = [number for one, old in zip(slices, before, strict=True) for number in self._compare(one, old)]

    def on_step(self, loss: object, more: object) -> None:
        """Reports when every slice has been measured since the last report."""
        if len(self._found) < len(self._parts) or not self._parts:
            return
        slices = [one for part in self._parts for one in self._parts[part]]
        numbers = [number for part in self._parts for number in self._found[part]]
        zeros = self.scene.scaler is not None
        # A round in which a fused optimizer left a step out has updates of nothing in it, and gradients that are not finite.
        lost, end = [*self._overflows], len(numbers)
        self._found, self._overflows = {}, []

        def finish(values: Sequence[float]) -> Mapping[str, float]:
            return {} if any(values[end:]) else _report(slices, values[:end], zeros)

        self.scene.draft.vector(gathered([*numbers, *lost]), finish, across=self.scene.sharded)

    def _compare(self, one: Slice, old: Tensor) -> tuple[Tensor, ...]:
        weights = _square(old)
        update = _square(old.sub_(_cut(one.weight.tensor, one)))
        gradient = one.weight.tensor.grad  # without its loss scale: a fused optimizer, that divides by it, leaves it so
        none = weights.new_zeros(())
        if gradient is None or gradient.is_sparse:
            return weights, update, none, none, none, none
        g = _cut(gradient, one)
        zeros = (g == 0).sum() if self.scene.scaler is not None and not one.weight.embeds else none
        state = one.weight.optimizer.state.get(one.weight.tensor, {})
        v, taken = state.get("exp_avg_sq"), state.get("step")
        betas, epsilon = one.weight.settings.get("betas"), one.weight.settings.get("eps")
        # Other optimizers call what they keep by the same names, but work it out otherwise.
        if not (isinstance(betas, (tuple, list)) and len(betas) == 2 and isinstance(epsilon, (float, int)) and taken is not None):
            return weights, update, none, none, zeros, none + g.numel()
        if not isinstance(v, Tensor) or v.shape != one.weight.tensor.shape:
            return weights, update, none, none, zeros, none + g.numel()
        beta = betas[1]
        bias = 1 - beta**taken
        g, spare = g.float(), old.float()  # whose numbers have served: to take as much memory anew costs more than working it out
        spare.copy_(_cut(v, one)).div_(bias).clamp_(min=epsilon**2)
        total = torch.dot(torch.div(g, spare, out=spare), g)
        return weights, update, total, none + g.numel(), zeros, none + g.numel()


def _packed(weights: Sequence[Weight]) -> Iterator[list[Slice]]:
    """Slices of about ``SLICE`` entries, small parameters of one optimizer together: the same on every rank."""
    pack: list[Slice] = []
    size = 0
    for weight in weights:
        parts = 2 if weight.tensor.is_complex() else 1
        entries = -(-parts * weight.tensor.numel() // shards(weight.tensor))
        for start in range(0, max(entries, 1), SLICE):
            width = min(SLICE, entries - start)
            if pack and (size + width > SLICE or pack[0].weight.optimizer is not weight.optimizer):
                yield pack
                pack, size = [], 0
            pack.append(Slice(weight, start, start + SLICE if start + SLICE < entries else None))
            size += width
    if pack:
        yield pack


def _cut(tensor: Tensor, one: Slice) -> Tensor:
    return local(tensor).reshape(-1)[one.start : one.end]


def _square(tensor: Tensor) -> Tensor:
    flat = tensor.float()
    return torch.dot(flat, flat)


def _report(slices: Sequence[Slice], values: Sequence[float], zeros: bool) -> Mapping[str, float]:
    sums: dict[str, list[float]] = {}
    rows = [[shards(one.weight.tensor) * value for value in values[6 * at : 6 * at + 6]] for at, one in enumerate(slices)]
    for one, row in zip(slices, rows, strict=True):
        for member in (one.weight.block, one.weight.group):
            have = sums.setdefault(member, [0.0] * 4)
            for column in range(4):
                have[column] += row[column]
    found: dict[str, float] = {}
    for member, (weights, update, ratio, entries) in sums.items():
        found[f"weight_norm/{member}"] = _root(weights)
        if weights > 0:
            found[f"update_ratio/{member}"] = _root(update / weights)
        if entries:
            found[f"adam_rms/{member}"] = _root(ratio / entries)
    counted = sum(row[5] for one, row in zip(slices, rows, strict=True) if not one.weight.embeds)
    if zeros and counted:
        found["grad_zero_share/all"] = sum(row[4] for row in rows) / counted
    return found


def _root(square: float) -> float:
    return math.sqrt(square) if square >= 0 else math.nan


PANEL = WeightsPanel
