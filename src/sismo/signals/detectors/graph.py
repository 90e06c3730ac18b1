"""How a recorded loss is made: what autograd knows of the operations between the weights and the loss."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import cast

from sismo.records.channels import LOSS_TRAIN
from sismo.records.types import Event
from sismo.signals.types import Detector, Observation, State, absent, present, unknown
from sismo.signals.view import View

_SOON = 64
"""Steps after a lost loss within which its graph was looked at: numbers come from an accelerator that late at most."""
_LOGARITHM = re.compile(
    r"^(?!LogSoftmax|LogSigmoid|Logical|BinaryCrossEntropyWithLogits).*(log|ctcloss|binarycrossentropy$|kldiv|digamma)", re.IGNORECASE
)
"""Those that torch guards by itself are left out; what may hold one counts as one."""
_ROOT = re.compile(r"^(?!.*(layer|batch|group)norm$).*(sqrt|norm|root|std|cdist|dist$|acos|asin|svd|eigh)", re.IGNORECASE)
"""Operations whose derivative is infinite at 0."""
_MINING = re.compile(r"^(topk|sort|kthvalue)$", re.IGNORECASE)
"""What picks by size: the hardest examples by their losses, or experts by their scores."""
_ATTENTION = re.compile(r"^(?!LogSoftmax).*(softmax|attention)", re.IGNORECASE)


def _graphs(view: View) -> list[Event]:
    return [event for event in view.events if event.kind == "graph"]


def _without(kind: re.Pattern[str]) -> Callable[[View], Observation]:
    """Present where the whole graph was seen and nothing of a kind is in it; of a loss that is lost, the graph of that very loss."""

    def look(view: View) -> Observation:
        lost = view.nonfinite(LOSS_TRAIN)
        known = [event for event in _graphs(view) if not lost or 0 <= event.step - lost[0].start <= _SOON]
        if not known:
            return unknown("the graph of the loss at step {at}", at=lost[0].start if lost else 0)
        found = known[-1]
        ops = [str(op) for op in cast("list[object]", found.data.get("ops") or [])]
        hits = [op for op in ops if kind.search(op)]
        if hits:
            return absent(op=hits[0])
        return (
            present(found.step, count=len(ops)) if found.data.get("whole") else unknown("the graph of the loss at step {at}", at=found.step)
        )

    return look


def _with(kind: re.Pattern[str]) -> Callable[[View], Observation]:
    """Present where the loss that was lost, or the first one, comes over an operation of a kind."""

    def look(view: View) -> Observation:
        seen = _without(kind)(view)
        if seen.state is not State.ABSENT:
            return absent() if seen.state is State.PRESENT else seen
        return present(op=str(seen.numbers["op"]))

    return look


def _sum(view: View) -> Observation:
    known = _graphs(view)
    if not known:
        return unknown("the graph of the loss at step {at}", at=0)
    return present(known[0].step) if known[0].data.get("sum") is True else absent()


def _squashed(view: View) -> Observation:
    known = _graphs(view)
    if not known:
        return unknown("the graph of the loss at step {at}", at=0)
    by = known[0].data.get("squashed")
    return present(known[0].step, by=str(by)) if by else absent()


_HOW = "give step() of sismo.Recorder the loss that backward() was called on"
DETECTORS = (
    Detector("loss-is-a-sum", ("events.graph",), _sum, "the loss is summed over its batch (reduction=\"sum\"), not averaged", "the loss is not a plain sum over its batch", _HOW),
    Detector("scores-squashed-twice", ("events.graph",), _squashed, "the output of a {by} goes into a loss that has one of its own", "no softmax or sigmoid comes before a loss that has its own", _HOW),
    Detector("loss-of-the-hardest", ("events.graph",), _with(_MINING), "something is picked by its size on the way to the loss ({op}), as hard examples are: a loss of those jumps where the rule that picks them changes", "nothing is picked by its size on the way to the loss", _HOW),
    Detector("loss-without-log", ("events.graph",), _without(_LOGARITHM), "none of the {count} kinds of operations between weights and loss takes a logarithm that could meet 0 (log_softmax does not)", "the loss takes a logarithm ({op})", _HOW),
    Detector("loss-without-root", ("events.graph",), _without(_ROOT), "none of the {count} kinds of operations between weights and loss takes a root or a norm", "a root or a norm is taken on the way to the loss ({op})", _HOW),
    Detector("loss-takes-a-root", ("events.graph",), _with(_ROOT), "a root or a norm is taken on the way to the loss ({op}): its derivative at 0 is infinite", "no root was seen on the way to the loss", _HOW),
    Detector("loss-without-attention", ("events.graph",), _without(_ATTENTION), "none of the {count} kinds of operations between weights and loss is a softmax: there is no attention to mask", "a softmax is taken on the way to the loss ({op})", _HOW),
)  # fmt: skip
