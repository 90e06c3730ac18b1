"""Panel 1, how the loss is made: an event ``graph`` with the operations between weights and loss, at the first step and at a lost one.

From the names of the nodes that autograd keeps behind the loss: nothing is worked out and no tensor is read. ``ops``: which operations
there are; ``whole``: whether all of them were seen, which a function of somebody's own or a compiled part prevents; ``sum``: whether the
loss is a criterion summed over its batch; ``squashed``: the softmax or sigmoid whose output goes into a criterion that has one of its
own. The loss is the one that the loop gives, where that has its graph; else those that backward is called on, the first few of the step.
Cost: some microseconds a node, at the first step and once where the loss is lost. Source: the catalogue (log(0) in the loss,
``accumulation-not-averaged``); UMLAUT and DeepLocalize (a softmax before cross-entropy).
"""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar

from torch import Tensor

from sismo.recorder.draft import Job
from sismo.recorder.panel import Panel
from sismo.recorder.scene import Scene
from sismo.recorder.sound import sound
from sismo.records.channels import LOSS_TRAIN
from sismo.records.types import Event

_MOST = 20_000
"""Nodes that are looked at: a hundred transformer blocks have some 5,000."""
_NATIVE = re.compile(r"^(\w+)Backward\d+$")
_LEAF = "torch::autograd::AccumulateGrad"
_LEAVES = (_LEAF, "_DDPSinkBackward")
_PASSING = re.compile(r"(View|Reshape|Transpose|Permute|Squeeze|Slice|Select|Clone|Copy|Expand|Index|Alias|Clamp)|^T$")
"""Operations that hand numbers on as they are."""
_SCALING = ("Div", "Mul")
_OWN = {
    "LogSoftmax": ("Softmax", "Sigmoid"),
    "BinaryCrossEntropyWithLogits": ("Softmax", "Sigmoid"),
    "NllLoss": ("Softmax",),
    "NllLoss2D": ("Softmax",),
}
"""What works out a softmax, a sigmoid or a logarithm by itself, and what should not come into it."""
_MATRICES = re.compile(r"mm$|conv|linear|rnn|attention", re.IGNORECASE)
"""Where a loss ends and a model begins."""
_PER_EXAMPLE, _SUMMED = 0, 2
_PASSES = 4
"""Backward passes of one step that are looked at: those of accumulation are alike."""

_Under = tuple[list[Any], bool]


class GraphPanel(Panel):
    """The operations that the loss is made of."""

    name: ClassVar[str] = "graph"

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self._due, self._lost = True, False
        self._looks = 0
        self._called: list[tuple[Tensor, Any]] = []
        self._found: Mapping[str, object] | None = None

    def jobs(self) -> Sequence[Job]:
        return ()

    def arm(self, parts: Collection[str]) -> None:
        pass

    def on_backward(self, loss: Tensor, by: Tensor | None) -> None:
        """Looks at the losses of the first step while they have their graphs, and keeps those of others until the step is over."""
        top = loss.grad_fn if by is None else _below(loss.grad_fn)[0]
        if self._due or 0 < self._looks < _PASSES:
            under = _under(top)
            if self._trains(under[0]):
                self._look(under, self._found if self._looks else None)
        elif not self._lost and len(self._called) < _PASSES:
            self._called.append((loss.detach(), top))

    def on_step(self, loss: object, more: object) -> None:
        """Where the loop gives its loss with the graph, that is the loss, and not what backward was called on."""
        called, self._called = self._called, []
        if isinstance(loss, Tensor) and loss.grad_fn is not None:
            if self._due or self._looks or self._loses(loss):
                self._look(_under(loss.grad_fn), None)
        elif (top := next((top for number, top in called if self._loses(number)), None)) is not None:
            under = _under(top)
            if self._trains(under[0]):
                self._look(under, None)
        self._looks = 0

    def _loses(self, loss: Tensor) -> bool:
        """Whether this is the first loss that is lost; elsewhere than on the CPU that is told later, and the next one is looked at."""
        if self._lost or loss.device.type != "cpu" or sound(loss):
            return False
        self._lost = True
        return True

    def _look(self, under: _Under, others: Mapping[str, Any] | None) -> None:
        self._due, self._looks = False, self._looks + 1
        found = _described(*under)
        self._found = found if others is None else _together(others, found)

    def _trains(self, nodes: Sequence[Any]) -> bool:
        """Whether a loss with these nodes is of this model: another may be trained beside it. Weights that ranks share out do not tell."""
        if self.scene.sharded or self.scene.cut:
            return True
        mine = {id(parameter) for parameter in self.scene.root.parameters()}
        leaves = [node for node in nodes if _op(node) == _LEAF]
        return not leaves or any(id(node.variable) in mine for node in leaves)

    def landed(self, step: int, values: dict[str, float]) -> Sequence[Event]:
        if not self._lost and not math.isfinite(values.get(LOSS_TRAIN, 0.0)):
            self._lost = self._due = True
        found, self._found = self._found, None
        return [Event(step, "graph", found)] if found is not None else []


def described(top: Any) -> Mapping[str, Any]:
    """What the graph under a node is made of; see the head of this file."""
    return _described(*_under(top))


def _described(nodes: Sequence[Any], whole: bool) -> Mapping[str, Any]:
    top, ops = nodes[0], set(map(_op, nodes))
    return {"ops": sorted(ops - {"", *_LEAVES}), "whole": whole and "" not in ops, "sum": _is_sum(top), "squashed": _squashed(top)}


def _together(one: Mapping[str, Any], other: Mapping[str, Any]) -> Mapping[str, Any]:
    """Several losses of one step."""
    return {
        "ops": sorted({*one["ops"], *other["ops"]}),
        "whole": one["whole"] and other["whole"],
        "sum": one["sum"] and other["sum"],
        "squashed": one["squashed"] or other["squashed"],
    }


def _under(top: Any) -> _Under:
    """The nodes from one on, and whether that is all of them."""
    seen, pending = {top: None}, deque([top])
    while pending and len(seen) < _MOST:
        for below in _below(pending.popleft()):
            if below not in seen:
                seen[below] = None
                pending.append(below)
    return list(seen), not pending


def _op(node: Any) -> str:
    """The operation of a node; empty for one that is not of torch's own, or that hides what it does."""
    name = str(node.name())
    if name in _LEAVES:
        return name
    native = _NATIVE.match(name)
    if native is None:
        return ""
    op = native[1]
    if op == "Pow":
        exponent = _saved(node, "_saved_exponent")
        return op if isinstance(exponent, (int, float)) and exponent >= 1 else "PowRoot"  # of a tensor any may be under 1
    return op


def _below(node: Any) -> list[Any]:
    return [below for below, _ in node.next_functions if below is not None]


def _is_sum(top: Any) -> bool:
    """Whether a criterion adds up its batch, in itself or in a sum right behind it."""
    # As a loop of any number of micro-batches does it where there is one.
    while _op(top) in ("Div", "Mul") and len(below := _below(top)) == 1 and _by_one(top):
        top = below[0]
    own = getattr(top, "_saved_reduction", None)
    behind = _below(top) if _op(top) == "Sum" else []
    return own == _SUMMED or any(getattr(node, "_saved_reduction", None) == _PER_EXAMPLE for node in behind)


def _by_one(node: Any) -> bool:
    """Whether a product or quotient is with the number 1; a number of Python's becomes a tensor on the host."""
    number = _saved(node, "_saved_other")
    return isinstance(number, Tensor) and number.device.type == "cpu" and number.numel() == 1 and bool((number == 1).numpy())


def _saved(node: Any, name: str) -> Any:
    """What a node has kept; None where it keeps no such thing, or where it is a tensor and backward has let go of it."""
    try:
        return getattr(node, name, None)
    except RuntimeError:
        return None


def _squashed(top: Any) -> str | None:
    """The softmax or sigmoid whose output gets, unchanged, into what works out its own; None where there is none."""
    seen, pending = {top}, deque([top])
    while pending:
        node = pending.popleft()
        op = _op(node)
        for source in map(_passed, _below(node)):
            if _op(source) in _OWN.get(op, ()):
                return _op(source).lower()
            # What lies under a criterion is the model, but for the logarithm that goes with it.
            if source not in seen and not _MATRICES.search(op) and (op not in _OWN or _op(source) in _OWN):
                seen.add(source)
                pending.append(source)
    return None


def _passed(node: Any) -> Any:
    """The node that made the numbers which this one only hands on. Shares stay shares when they are divided by a temperature."""
    scaled = None
    while len(below := _below(node)) == 1 and (_PASSING.search(_op(node)) or _op(node) in _SCALING):
        if scaled is None and _op(node) in _SCALING:
            scaled = node
        node = below[0]
    return node if scaled is None or _op(node) == "Softmax" else scaled


PANEL = GraphPanel
