"""Panel 3, the gradient: ``grad_norm/pre``, ``grad_norm/post``, ``grad_norm_group/BLOCK`` and ``/GROUP``, ``grad_carried``.

Formula: the L2 norm sqrt(sum g^2) over all entries, before and after clipping, with the loss scale divided out. Before clipping it is
what ``clip_grad_norm_`` worked out, at every step; after it, pre * min(1, max_norm / (pre + 1e-6)), which is what was done to the
gradient. Cost: none for those two; without clipping by norm, and for the norms by block, one pass over the gradients. The first and the
last member of ``grad_norm_group`` are the first and the last block of the model: their ratio tells a vanishing gradient. ``grad_carried``
is the norm of what the first backward pass of a step finds in the gradient of the last vector of the model (a bias, or a matrix where
there is none) and what is not cleared before the update: 0 where the loop cleared it; in each of the first eight steps, too. Source: the
user's own panel 3; per block: GLM-130B, OLMo 2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor
from torch.autograd.graph import get_gradient_edge
from torch.optim import Optimizer

from sismo.recorder import scaled
from sismo.recorder.draft import Job, gathered
from sismo.recorder.hook import elsewhere
from sismo.recorder.local import local, shards
from sismo.recorder.panel import Panel
from sismo.recorder.scene import Scene, Weight
from sismo.records.channels import GRAD_CARRIED, GRAD_NORM_POST, GRAD_NORM_PRE
from sismo.records.types import Event

_ALL = "all"
_FIRST_STEPS = 8
"""Steps in which it is looked for what is carried over, whatever else is measured: a loop clears them in all or in none."""
_EPSILON = 1e-6
"""What torch adds to the norm before it divides."""


class _Clip(NamedTuple):
    """One clipping by norm: the norm that it found, its threshold, and the scale that the gradient carried there, if any."""

    total: Tensor
    max_norm: float
    by: Tensor | None

    def before_and_after(self, total: float, scales: Iterator[float]) -> tuple[float, float]:
        """The norm before and after clipping, once the numbers are there. What was clipped is the gradient as it stood there: scaled."""
        by = 1.0 if self.by is None else next(scales)
        return total / by, total * min(1.0, self.max_norm / (total + _EPSILON)) / by


class _Place:
    """Where the gradient of one parameter is added up. A hook on the parameter itself would be pickled with the model.

    The place has the shape that the parameter had when it was made, and is made anew where nobody keeps it: so it is kept no longer
    than it must.
    """

    used = on_modules = False

    def __init__(self, arrives: Callable[[Sequence[Tensor]], None]) -> None:
        self._arrives = arrives
        self._kept: tuple[Any, Any] | None = None
        self.of: Tensor | None = None

    def hang(self) -> None:
        """Looks at what is added there from now on."""
        if self._kept is None and self.of is not None and self.of.requires_grad:
            node = get_gradient_edge(self.of).node
            self._kept = node, node.register_prehook(self._arrives)

    def rest(self) -> None:
        """Lets go of it."""
        if self._kept is not None:
            self._kept[1].remove()
            self._kept = None


class GradientsPanel(Panel):
    """Gradient norms, global, by block and by group."""

    name: ClassVar[str] = "gradients"
    of_weights: ClassVar[bool] = True

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self._index = {id(weight.tensor): at for at, weight in enumerate(scene.weights)}
        self._across = scene.sharded
        self._shards = [shards(weight.tensor) for weight in scene.weights]
        self._armed = True
        self._begun = 0
        self._free = False
        vectors = [weight.tensor for weight in scene.weights if weight.tensor.ndim == 1]
        self._watched = None if scene.sharded else next(reversed([*(weight.tensor for weight in scene.weights), *vectors]), None)
        self._place = _Place(self._arrives)
        scene.taps.append(self._place)
        self._updated = True
        self._clear()

    def jobs(self) -> Sequence[Job]:
        return [Job(self.name, _ALL)]

    @property
    def first(self) -> bool:
        """Where clipping gives the global norm for nothing, the norms by block can wait."""
        return not self._free

    def arm(self, parts: Collection[str]) -> None:
        self._armed = bool(parts)
        self._from_update, self._updated = self._updated, False
        self._clear()
        self._place.rest()
        self._place.of = self._watched if self._armed or self._begun < _FIRST_STEPS else None
        self._begun += 1

    def landed(self, step: int, values: dict[str, float]) -> Sequence[Event]:
        return ()

    def _arrives(self, gradients: Sequence[Tensor]) -> None:
        """A gradient is about to be added to what is there."""
        if elsewhere() or self._watched is None or not self.scene.shield.alive:
            return
        with self.scene.shield:
            there = self._watched.grad
            if there is None:
                self._carried = 0.0
            elif self._carried is None:
                (self._carried,) = _norms_of([local(there)])
            elif isinstance(self._carried, Tensor):
                # Zeros, where the loop cleared it since then.
                self._carried = self._carried * (_norms_of([local(there)])[0] != 0)

    def on_clipped(self, parameters: Sequence[Tensor], max_norm: float | None, total: Tensor | None) -> None:
        """Gradients are about to be clipped: by norm where ``max_norm`` is given, with ``total`` the L2 norm where it is known."""
        weights = [self.scene.weights[self._index[id(one)]] for one in parameters if id(one) in self._index and one.grad is not None]
        if not weights:
            return
        by = scaled.at_clip(self.scene, weights[0].optimizer)
        mine = frozenset(self._index[id(weight.tensor)] for weight in weights)
        # What was clipped before in other company is no longer as it came, and what both calls leave is known at the update only.
        again = [part for part in self._clips if part != mine and not part.isdisjoint(mine)]
        if again or not mine.isdisjoint(self._measure_post):
            seen = self._pre.keys() | frozenset().union(*again)
            self._measure([weight for weight in weights if self._index[id(weight.tensor)] not in seen], by)
            self._measure_post.update(mine, *again)
            return
        if self._armed or total is None or self._across:
            self._measure(weights, by)
        if total is not None and max_norm is not None and not self._across:
            self._clips[mine] = _Clip(total, max_norm, by)
        else:
            self._measure_post.update(mine)

    def on_before_update(self, optimizer: Optimizer) -> None:
        """Gradients are final."""
        if any(weight.tensor is self._watched for weight in self.scene.of(optimizer)):
            self._updated = True
            # Where a row ends between two updates, the next one begins with a gradient that is rightly there.
            if self._carried is not None and self._from_update:
                self.scene.draft.add(GRAD_CARRIED, self._carried)
        weights = [weight for weight in self.scene.of(optimizer) if weight.tensor.grad is not None]
        covered = frozenset().union(*self._clips)
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
        covered = frozenset().union(*self._clips)
        whole = bool(self._clips) and covered >= {at for at, weight in enumerate(self.scene.weights) if weight.tensor.grad is not None}
        clipped = bool(self._clips or self._measure_post)
        self._free = whole
        at, posts, clips = list(self._pre), list(self._post), list(self._clips.values())
        # What was clipped by value as well was measured after that.
        final = [not part.isdisjoint(posts) for part in self._clips]
        norms = [self._pre[index] for index in at] + [self._post[index] for index in posts]
        sent = [*norms, *(clip.total for clip in clips), *(clip.by for clip in clips if clip.by is not None)]
        if not sent:
            return
        weights, known = self.scene.weights, bool(at) or whole

        def finish(values: Sequence[float]) -> Mapping[str, float]:
            squares = [value if self._across else value * value for value in values[: len(norms)]]
            squares = [self._shards[index] * square for index, square in zip(at + posts, squares, strict=True)]
            totals, scales = values[len(norms) : len(norms) + len(clips)], iter(values[len(norms) + len(clips) :])
            pairs = [clip.before_and_after(total, scales) for clip, total in zip(clips, totals, strict=True)]
            before = dict(zip(at, squares, strict=False))
            found = _by_member([(weights[index], square) for index, square in before.items()])
            lone = {} if whole else {index: square for index, square in before.items() if index not in covered}
            if known:
                found[GRAD_NORM_PRE] = _root(sum(lone.values()) + sum(pre * pre for pre, _ in pairs))
            if known and clipped:
                kept = sum(square for index, square in lone.items() if index not in posts)
                after = sum(post * post for (_, post), measured in zip(pairs, final, strict=True) if not measured)
                found[GRAD_NORM_POST] = _root(kept + sum(squares[len(at) :]) + after)
            return found

        values = gathered(sent)
        self.scene.draft.vector(values.square() if self._across else values, finish, across=self._across)

    def _measure(self, weights: Sequence[Weight], by: Tensor | None) -> None:
        if weights:
            with self.timed(_ALL):
                self._pre.update(self._norms(weights, by))

    def _norms(self, weights: Sequence[Weight], by: Tensor | None) -> dict[int, Tensor]:
        gradients = [local(weight.tensor.grad) for weight in weights if weight.tensor.grad is not None]
        if not gradients:
            return {}
        norms = [norm if by is None else norm / by.to(norm.device) for norm in _norms_of(gradients)]
        return {self._index[id(weight.tensor)]: norm for weight, norm in zip(weights, norms, strict=True)}

    def _clear(self) -> None:
        self._pre: dict[int, Tensor] = {}
        self._post: dict[int, Tensor] = {}
        self._clips: dict[frozenset[int], _Clip] = {}
        self._measure_post: set[int] = set()
        self._carried: Tensor | float | None = None


def _norms_of(gradients: Sequence[Tensor]) -> list[Tensor]:
    """The norm of each, in single precision, or double where the gradient has that."""
    found = [gradients[0]] * len(gradients)
    for dtype in (torch.float32, torch.float64):
        mine = [at for at, gradient in enumerate(gradients) if (gradient.dtype is torch.float64) is (dtype is torch.float64)]
        if mine:
            norms = torch._foreach_norm([gradients[at] for at in mine], 2, dtype=dtype)  # pyright: ignore[reportPrivateImportUsage]
            for at, norm in zip(mine, norms, strict=True):
                found[at] = norm
    return found


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
