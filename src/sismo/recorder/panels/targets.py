"""Panel 8, the targets: ``target/spread``, ``target/level``, ``target/as_input``, ``target/as_next`` and ``target/classes``.

Formulas, over the targets of every criterion of torch's own that a step calls with gradients (cross-entropy, negative log-likelihood,
binary cross-entropy, squared, absolute and Huber errors, Kullback-Leibler), without labels of -100. ``level``: their mean; where they are
no labels, also at a step that loses its loss (which an accelerator does not tell in time: there at every step), as it is NaN where one of
them is. ``spread``: 0 where they are all the same
over the batch, in every column of a target that has several; the range of whole-number labels, the largest range of a column else, and no
less than what the levels of several criteria are apart. Of labels it is told only where the model has as many outputs as there are
classes: those of a contrast of similarities say which place holds the partner, and may all be 0. ``as_input``: the largest share of labels
that are equal, place by place, to a tensor of whole numbers that the model was called with; ``as_next``: to the place after it.
``classes``: the number of classes that a cross-entropy tells apart, 2 for one of two. Cost: a few passes over the targets in the first four
steps and where they are looked at; on an accelerator their mean at every step. Source: preflight 3;
``degenerate-targets``, ``target-in-input`` and ``nonfinite-input`` of the catalogue.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor

from sismo.recorder.draft import Job, gathered
from sismo.recorder.inputs import tensors, whole
from sismo.recorder.panel import Panel
from sismo.recorder.scene import Scene
from sismo.recorder.sound import sound
from sismo.records.types import Event

_ALL = "all"
_IGNORED = -100
"""The label that torch's cross-entropy leaves out."""
_FIRST_STEPS = 4
"""Steps in which targets are looked at, whatever else is measured."""
_BINARY = ("binary_cross_entropy", "binary_cross_entropy_with_logits")
_MOST = 8
"""Criteria of a step that are looked at: one for each of its terms or micro-batches."""


class _Seen(NamedTuple):
    """What was measured of the targets of one criterion: tensors that become numbers later."""

    level: Tensor
    spread: Tensor | None
    as_input: Tensor | None
    as_next: Tensor | None


class TargetsPanel(Panel):
    """What the model is to come to."""

    name: ClassVar[str] = "targets"

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self._begun, self._armed, self._classes = 0, False, 0
        self._outputs = {parameter.shape[0] for parameter in scene.root.parameters() if parameter.ndim}
        self._inputs: list[Tensor] = []
        self._seen: list[_Seen] = []
        self._held: list[Tensor] = []

    def jobs(self) -> Sequence[Job]:
        return [Job(self.name, _ALL)]

    def arm(self, parts: Collection[str]) -> None:
        self._armed = bool(parts) or self._begun < _FIRST_STEPS
        self._begun += 1
        self._inputs, self._seen, self._held, self._classes = [], [], [], 0

    def landed(self, step: int, values: dict[str, float]) -> Sequence[Event]:
        return ()

    def on_inputs(self, arguments: Sequence[Any], options: Mapping[str, Any]) -> None:
        """Keeps the tokens that the model is called with until the step ends."""
        if self._armed:
            self._inputs = [tensor for tensor in tensors([*arguments, *options.values()]) if whole(tensor)]

    def on_criterion(self, name: str, scores: Tensor, target: Tensor) -> None:
        """Looks at the targets of a criterion."""
        if max(len(self._seen), len(self._held)) >= _MOST or not target.numel() or target.is_complex():
            return
        if not self._armed:
            if target.is_floating_point():
                self._held.append(target)
            return
        with self.timed(_ALL):
            if name in _BINARY:
                self._classes = max(self._classes, 2)
            self._seen.append(self._labels(scores, target) if whole(target) else self._numbers(target))

    def on_step(self, loss: object, more: object) -> None:
        """Puts what was seen in the step together."""
        if self._held and not _known_sound(loss):
            self._seen = [self._numbers(target) for target in self._held]
        if not self._seen:
            return
        levels = [seen.level for seen in self._seen]
        spreads = [seen.spread for seen in self._seen if seen.spread is not None]
        same = [seen.as_input for seen in self._seen if seen.as_input is not None]
        following = [seen.as_next for seen in self._seen if seen.as_next is not None]
        judged = len(spreads) == len(levels)  # or one of them cannot be judged
        if self._classes:
            self.scene.draft.add("target/classes", self._classes)

        def finish(values: Sequence[float]) -> Mapping[str, float]:
            found, at = dict[str, float](), 0
            of_levels, of_spreads, *shares = [values[at : (at := at + len(part))] for part in parts]
            found["target/level"] = math.fsum(of_levels) / len(levels)
            if judged:
                found["target/spread"] = max(*of_spreads, max(of_levels) - min(of_levels))
            found |= {name: max(share) for name, share in zip(("target/as_input", "target/as_next"), shares, strict=True) if share}
            return found

        parts = (levels, spreads, same, following)
        self.scene.draft.vector(gathered([value for part in parts for value in part]), finish)
        self._seen = []

    def _numbers(self, target: Tensor) -> _Seen:
        level = target.mean(dtype=torch.float32)
        if not self._armed or not target.ndim or target.shape[0] < 2:
            return _Seen(level, None, None, None)
        return _Seen(level, (target.amax(0) - target.amin(0)).amax().float(), None, None)

    def _labels(self, scores: Tensor, target: Tensor) -> _Seen:
        kept = target != _IGNORED
        count = kept.sum().clamp(min=1)
        level = target.where(kept, 0).sum() / count
        classes = scores.shape[1] if scores.ndim > 1 and scores.ndim == target.ndim + 1 else 0
        self._classes = max(self._classes, classes)
        spread = None
        if classes in self._outputs:
            low, high = target.where(kept, classes).amin(), target.where(kept, -1).amax()
            # With fewer than two labels there is nothing to compare.
            spread = (high - low).where(kept.sum() > 1, 1).float()
        # As one kind: torch compares some unsigned ones with no other.
        alike = [tensor.long() for tensor in self._inputs if tensor.numel() == target.numel() > 1]
        same = [_share(tensor == target.reshape(tensor.shape), kept.reshape(tensor.shape)) for tensor in alike]
        following = [
            _share(tensor[:, 1:] == target.reshape(tensor.shape)[:, :-1], kept.reshape(tensor.shape)[:, :-1])
            for tensor in alike
            if tensor.ndim == 2 and tensor.shape[1] > 1
        ]
        return _Seen(level, spread, torch.stack(same).amax() if same else None, torch.stack(following).amax() if following else None)


def _known_sound(loss: object) -> bool:
    """Whether a loss is known to be finite: to ask an accelerator would be to wait for it."""
    if not isinstance(loss, Tensor):
        return isinstance(loss, (int, float)) and math.isfinite(loss)
    return loss.device.type == "cpu" and sound(loss)


def _share(hits: Tensor, kept: Tensor) -> Tensor:
    return (hits & kept).sum() / kept.sum().clamp(min=1)


PANEL = TargetsPanel
