"""Panel 3, the gradient: ``grad_norm/pre``, ``grad_norm/post``, ``grad_norm_group/BLOCK`` and ``/GROUP``.

Formula: the L2 norm sqrt(sum g^2) over all entries, before and after clipping, with the loss scale divided out. Before clipping it is
what ``clip_grad_norm_`` worked out, at every step; after it, pre * min(1, max_norm / (pre + 1e-6)), which is what was done to the
gradient. Cost: none for those two; without clipping by norm, and for the norms by block, one pass over the gradients. The first and the
last member of ``grad_norm_group`` are the first and the last block of the model: their ratio tells a vanishing gradient. Source: the
user's own panel 3; per block: GLM-130B, OLMo 2.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import ClassVar

import torch
from torch import Tensor
from torch.optim import Optimizer

from sismo.recorder import scaled
from sismo.recorder.panel import Job, Panel, gathered
from sismo.recorder.scene import Scene, Weight, local, sharded
from sismo.records.channels import GRAD_NORM_POST, GRAD_NORM_PRE
from sismo.records.types import Event

_ALL = "all"
_EPSILON = 1e-6
"""What torch adds to the norm before it divides."""


class GradientsPanel(Panel):
    """Gradient norms, global, by block and by group."""

    name: ClassVar[str] = "gradients"

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self._index = {id(weight.tensor): at for at, weight in enumerate(scene.weights)}
        self._across = any(sharded(weight.tensor) for weight in scene.weights)
        self._armed = True
        self._free = False
        self._clear()

    def jobs(self) -> Sequence[Job]:
        return [Job(self.name, _ALL)]

    @property
    def first(self) -> bool:
        """Where clipping gives the global norm for nothing, the norms by block can wait."""
        return not self._free

    def arm(self, parts: Collection[str]) -> None:
        self._armed = bool(parts)
        self._clear()

    def landed(self, step: int, values: dict[str, float]) -> Sequence[Event]:
        return ()

    def on_clipped(self, parameters: Sequence[Tensor], max_norm: float | None, total: Tensor | None) -> None:
        """Gradients are about to be clipped: by norm where ``max_norm`` is given, with ``total`` the L2 norm where it is known."""
        weights = [self.scene.weights[self._index[id(one)]] for one in parameters if id(one) in self._index and one.grad is not None]
        if not weights:
            return
        by = scaled.at_clip(self.scene, weights[0].optimizer)
        if self._armed or total is None or self._across:
            self._measure(weights, by)
        if total is not None and max_norm is not None and not self._across:
            covered = frozenset(self._index[id(weight.tensor)] for weight in weights)
            # What was clipped is the gradient as it stood there: still scaled, if nobody unscaled it.
            clipped = total * torch.clamp(max_norm / (total + _EPSILON), max=1.0)
            self._totals[covered] = (total if by is None else total / by, clipped if by is None else clipped / by)
        else:
            self._measure_post.update(self._index[id(weight.tensor)] for weight in weights)

    def on_before_update(self, optimizer: Optimizer) -> None:
        """Gradients are final."""
        weights = [weight for weight in self.scene.of(optimizer) if weight.tensor.grad is not None]
        covered = frozenset().union(*self._totals)
        by = scaled.at_update(optimizer)
        if self._measure_post:
            clipped = [weight for weight in weights if self._index[id(weight.tensor)] in self._measure_post]
            self._post.update(self._norms(clipped, by))
        if self._armed:
            seen = covered | self._pre.keys()
            self._measure([weight for weight in weights if self._index[id(weight.tensor)] not in seen], by)

    def on_skipped(self, optimizer: Optimizer) -> None:
        """The gradients that were thrown away."""
        self.on_before_update(optimizer)

    def on_step(self, loss: object, more: object) -> None:
        """Puts the norms of the step together."""
        with self.timed(_ALL):
            self._write()
        self._clear()

    def _write(self) -> None:
        covered = frozenset().union(*self._totals)
        whole = bool(self._totals) and covered >= {at for at, weight in enumerate(self.scene.weights) if weight.tensor.grad is not None}
        clips = bool(self._totals or self._measure_post)
        self._free = whole
        if whole:
            pre = torch.linalg.vector_norm(gathered([pair[0] for pair in self._totals.values()]))
            post = torch.linalg.vector_norm(gathered([pair[1] for pair in self._totals.values()]))
            self.scene.draft.add(GRAD_NORM_PRE, pre)
            self.scene.draft.add(GRAD_NORM_POST, post)
        if not self._pre:
            return
        at = list(self._pre)
        extra = [number for pair in self._totals.values() for number in pair]
        lone = [index for index in at if index not in covered]
        posts = list(self._post)
        values = gathered([self._pre[index] for index in at] + extra + [self._post[index] for index in posts])
        weights, across = self.scene.weights, self._across

        def finish(values: Sequence[float]) -> Mapping[str, float]:
            squares = dict(zip(at, values, strict=False)) if across else dict(zip(at, (v * v for v in values), strict=False))
            totals = values[len(at) : len(at) + len(extra)]
            after = values[len(at) + len(extra) :]
            found = _by_member([(weights[index], square) for index, square in squares.items()])
            if not whole:
                rest = sum(squares[index] for index in lone)
                found[GRAD_NORM_PRE] = _root(rest + sum(v * v for v in totals[0::2]))
                if clips:
                    kept = sum(squares[index] for index in lone if index not in posts)
                    clipped = sum(after) if across else sum(v * v for v in after)
                    found[GRAD_NORM_POST] = _root(kept + clipped + sum(v * v for v in totals[1::2]))
            return found

        self.scene.draft.vector(values.square() if across else values, finish, across=across)

    def _measure(self, weights: Sequence[Weight], by: Tensor | None) -> None:
        if weights:
            with self.timed(_ALL):
                self._pre.update(self._norms(weights, by))

    def _norms(self, weights: Sequence[Weight], by: Tensor | None) -> dict[int, Tensor]:
        gradients = [local(weight.tensor.grad) for weight in weights if weight.tensor.grad is not None]
        if not gradients:
            return {}
        norms = torch._foreach_norm(gradients, 2, dtype=torch.float32)  # pyright: ignore[reportPrivateImportUsage]
        return {self._index[id(weight.tensor)]: norm if by is None else norm / by for weight, norm in zip(weights, norms, strict=True)}

    def _clear(self) -> None:
        self._pre: dict[int, Tensor] = {}
        self._post: dict[int, Tensor] = {}
        self._totals: dict[frozenset[int], tuple[Tensor, Tensor]] = {}
        self._measure_post: set[int] = set()


def _by_member(squares: Sequence[tuple[Weight, float]]) -> dict[str, float]:
    """Norms by block in the order of the model, those by group between the first and the last of them."""
    blocks: dict[str, float] = {}
    groups: dict[str, float] = {}
    for weight, square in squares:
        blocks[weight.block] = blocks.get(weight.block, 0.0) + square
        groups[weight.group] = groups.get(weight.group, 0.0) + square
    members = list(blocks.items())
    if len(groups) > 1:
        members[1:1] = groups.items()
    return {f"grad_norm_group/{member}": _root(square) for member, square in members}


def _root(square: float) -> float:
    return math.sqrt(square) if square >= 0 else math.nan


PANEL = GradientsPanel
