"""Whether a later token moves an earlier logit (P5.Q3), and which module lets it."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from sismo.errors import UsageError
from sismo.probes.asked import asks_for_next
from sismo.probes.dormant import awake
from sismo.probes.frames import visited
from sismo.probes.sequences import Call, calls_of, moves, short
from sismo.probes.step import LossFn
from sismo.probes.tensors import tensors
from sismo.probes.untouched import untouched
from sismo.records.probing import ProbeReport, word
from sismo.records.types import Note

_ALIKE = 1e-3
"""Share of the largest output that an output in single precision may be off by."""
_DRAWS = 2
"""Other futures that are tried at each length: one alone may be answered the same by chance."""
_ALL = 24
"""Up to this many positions, every prefix is tried."""
_ROUNDING = 1000
"""Units in the last place of the largest output that still count as rounding."""
_USUAL, _OTHERS = 1, (0, -1)
"""Axes along which time may run: (batch, time), (time, batch), (batch, channels, time)."""


_UNKNOWN = Note(
    "not-known",
    "Whether that is meant is not known: nothing shows that the loss asks each position for the next token. In a decoder it is a fault; an "
    "encoder or a tagger is meant to see ahead.",
)


class Order(StrEnum):
    """How a model treats the order of its positions."""

    CAUSAL = "causal"
    PREFIX = "prefix"
    LEAKS = "leaks"


class Prefix(NamedTuple):
    """What a change of everything from ``length`` on did: the first earlier position that it moved, how many, and by how much."""

    length: int
    first: int | None
    count: int
    effect: float


@dataclass(frozen=True, slots=True)
class Causality:
    """What a change of the future does to the past.

    Attributes:
        order: ``causal``; ``prefix`` where only the first ``visible`` positions see each other, as a prefix-LM means it; else ``leaks``.
        first: the first position that a later one moves. by: the last place from which on a change moves it.
        module: path of the module that lets the future in, the innermost whose inputs are still causal; its class is ``kind``.
        effect: the largest move, in units of the largest output. prefixes: everything that was tried.
        asked: whether the loss asks each position for the next token, without which seeing ahead is no fault; None where it is not known.
        mixes: whether any position sees another one at all.
    """

    order: Order
    prefixes: tuple[Prefix, ...]
    first: int | None = None
    by: int | None = None
    module: str = ""
    kind: str = ""
    visible: int = 0
    effect: float = 0.0
    asked: bool | None = None
    mixes: bool = True

    @property
    def causal(self) -> bool:
        """Whether no later token moves an earlier logit."""
        return self.order is Order.CAUSAL

    def report(self) -> ProbeReport:
        """The result for a run and a reader."""
        broken = self.order is Order.LEAKS and self.asked is True
        data: dict[str, object] = {}
        if self.order is Order.PREFIX:
            data["prefix"] = self.visible
        elif self.order is Order.LEAKS and not broken:
            data["bidirectional"] = "yes" if self.asked is False else "unknown"
        else:
            data["causality"] = "broken" if broken else "sound"
        if broken:
            data |= {"where": self.module or self.kind, "first": self.first, "by": self.by, "effect": self.effect}
        columns = (word("changed from"), word("moved"), word("first moved"), word("largest move"))
        rows = tuple(
            (str(prefix.length), str(prefix.count), "" if prefix.first is None else str(prefix.first), f"{prefix.effect:.2g}")
            for prefix in self.prefixes
        )
        unknown = self.order is Order.LEAKS and self.asked is None
        return ProbeReport("causal", broken, self._verdict(), data, columns, rows, (_UNKNOWN,) if unknown else (), open=unknown)

    def _verdict(self) -> Note:
        numbers = {"first": self.first, "by": self.by, "where": self.module or self.kind, "kind": self.kind, "visible": self.visible}
        match self.order:
            case Order.CAUSAL:
                return Note("causal", "No later token moves an earlier logit.")
            case Order.PREFIX:
                return Note(
                    "prefix-lm",
                    "The first {visible} positions see each other, as a prefix-LM means it; no other position sees a later one.",
                    numbers,
                )
            case Order.LEAKS if self.asked is False:
                return Note(
                    "bidirectional",
                    "Positions see later ones, and the loss asks none of them for the next token: the model is meant to see ahead.",
                )
            case Order.LEAKS if self.asked is None:
                return Note(
                    "sees-ahead",
                    "Position {first} moves when what comes from position {by} on changes, by way of {where} ({kind}).",
                    numbers,
                )
            case Order.LEAKS:
                return Note(
                    "leaks",
                    "Position {first} moves when what comes from position {by} on changes: {where} ({kind}) lets the future in.",
                    numbers,
                )


def causality(model: nn.Module, batch: Any, loss_fn: LossFn | None = None, *, axis: int | None = None) -> Causality:
    """Changes what comes after prefixes of several lengths, and looks whether an earlier output moves.

    The model runs in evaluation mode and, where it can, in double precision, in which a finite mask bias shows that a large logit beats;
    parameters that are zero throughout are given values, as nothing behind them would be seen. Of several sequences, as an encoder and a
    decoder get, it is the one whose next token the loss asks for. It is left as it was (see ``untouched``).

    Arguments:
        batch: the model's own argument (a tensor, or a mapping of arguments), or with ``loss_fn(model, batch)`` what that takes.
        axis: along which time runs in the sequence, 1 for (batch, time); -1 for a convolution over (batch, channels, time). Without it 1,
            or where nothing is mixed along that, the one along which something is.

    Raises ``UsageError`` when the model gets no sequence, or gives no output for each position.
    """
    found = _along(model, batch, loss_fn, _USUAL if axis is None else axis)
    others = _OTHERS if axis is None and found.order is Order.CAUSAL and not found.mixes else ()
    for other in others:
        with contextlib.suppress(UsageError):
            instead = _along(model, batch, loss_fn, other)
            if instead.mixes:
                return instead
    return found


def _along(model: nn.Module, batch: Any, loss_fn: LossFn | None, axis: int) -> Causality:
    with untouched(model, None, loss_fn), _as_in_training():
        model.eval()
        call, asked = _asked(model, batch, loss_fn, axis)
        awake(model)
        call = _in_double(model, call)
        base = call.run(model)
        again = moves(base, call.run(model), call.length, call.axis)
        rounding = _ROUNDING * torch.finfo(base.dtype).eps * float(base.double().abs().nan_to_num(0.0).amax())
        # A model that is not deterministic moves by itself.
        allowed = max(rounding, 10 * float(again.amax()) if again is not None else 0.0)
        prefixes = tuple(_try(model, call, base, cut, allowed) for cut in _lengths(call.length))
        leaking = [prefix for prefix in prefixes if prefix.count]
        if not leaking:
            return Causality(Order.CAUSAL, prefixes, asked=asked, mixes=_mixes(model, call, base, allowed))
        effect = max(prefix.effect for prefix in leaking)
        visible = _visible(prefixes)
        # What is asked of a position whose answer the prefix shows is no prefix-LM's.
        if visible and not (loss_fn is not None and asks_for_next(model, batch, loss_fn, call.name, axis, until=visible - 1)):
            return Causality(Order.PREFIX, prefixes, visible=visible, effect=effect, asked=asked)
        worst = min(leaking, key=lambda prefix: (prefix.first, -prefix.length))
        module = _culprit(model, call, worst.length)
        kind = type(model.get_submodule(module)).__name__
        return Causality(Order.LEAKS, prefixes, worst.first, worst.length, module, kind, effect=effect, asked=asked)


def _asked(model: nn.Module, batch: Any, loss_fn: LossFn | None, axis: int) -> tuple[Call, bool | None]:
    """The call, with the sequence whose next token the loss asks for, the first one where it is none; and whether it does."""
    calls = calls_of(model, batch, loss_fn, axis)
    if loss_fn is None:
        return short(model, calls[0]), None
    answers = [asks_for_next(model, batch, loss_fn, call.name, axis) for call in calls]
    at = answers.index(True) if True in answers else 0
    return short(model, calls[at]), answers[at]


def _mixes(model: nn.Module, call: Call, base: Tensor, allowed: float) -> bool:
    """Whether any position moves when those before it change."""
    half = call.length // 2
    past = call.sequence.narrow(call.axis, half, call.length - half)
    fresh = call.with_future(0, 0).sequence.narrow(call.axis, 0, half)
    gap = moves(base, call.with_sequence(torch.cat([fresh, past], call.axis)).run(model), call.length, call.axis)
    return gap is not None and bool((gap[half:] > allowed).any())


def _lengths(length: int) -> list[int]:
    """Every prefix of a short sequence; of a long one the first and last ones, and some between that lie next to each other."""
    if length <= _ALL:
        return list(range(1, length))
    wanted = {1, 2, 3, length // 4, length // 2 - 1, length // 2, length // 2 + 1, 3 * length // 4, length - 2, length - 1}
    return sorted(wanted)


def _try(model: nn.Module, call: Call, base: Tensor, cut: int, allowed: float) -> Prefix:
    scale = float(base.double().abs().nan_to_num(0.0).amax()) or 1.0
    moved: set[int] = set()
    effect = 0.0
    for seed in range(_DRAWS):
        gap = moves(base, call.with_future(cut, seed).run(model), call.length, call.axis)
        if gap is None:
            raise UsageError("the model's output changes its shape with its input, so positions cannot be compared")
        moved |= {int(place) for place in (gap[:cut] > allowed).nonzero()}
        effect = max(effect, float(gap[:cut].amax()) / scale)
    return Prefix(cut, min(moved, default=None), len(moved), effect)


def _visible(prefixes: tuple[Prefix, ...]) -> int:
    """Positions that see each other, where changes within them move everything before and changes after them nothing; else 0."""
    last = max(prefix.length for prefix in prefixes if prefix.count)
    until = min((prefix.length for prefix in prefixes if prefix.length > last), default=None)
    alike = all((prefix.count == prefix.length) == (prefix.length <= last) for prefix in prefixes if prefix.count or prefix.length <= last)
    return last + 1 if alike and until is not None else 0


def _culprit(model: nn.Module, call: Call, cut: int) -> str:
    """The innermost module that gives another past although it got the same one; the model itself where none is."""
    one, other = _Calls(), _Calls()
    with visited(model, one):
        call.run(model)
    with visited(model, other):
        call.with_future(cut, 0).run(model)
    for (name, inputs, outputs), (_, other_inputs, other_outputs) in zip(one.seen, other.seen, strict=False):
        if _differ(outputs, other_outputs, call, cut) and not _differ(inputs, other_inputs, call, cut):
            return name
    return ""


def _differ(mine: list[Tensor], its: list[Tensor], call: Call, cut: int) -> bool:
    """Whether any of the tensors has another past. That there is a leak is known here, so the last bits are enough."""
    for one, other in zip(mine, its, strict=False):
        gap = moves(one, other, call.length, call.axis)
        if gap is not None and bool((gap[:cut] > 16 * torch.finfo(one.dtype).eps * float(one.double().abs().nan_to_num(0.0).amax())).any()):
            return True
    return False


class _Calls:
    """What every module got and gave, in the order in which they returned."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, list[Tensor], list[Tensor]]] = []

    def entered(self, name: str, inputs: Any) -> None:
        """Nothing is known yet."""

    def left(self, name: str, inputs: Any, output: Any) -> None:
        """A module returns."""
        self.seen.append((name, list(tensors(inputs)), list(tensors(output))))


def _in_double(model: nn.Module, call: Call) -> Call:
    """The model and its call in double precision, where the model's own code lets that be and gives the same.

    It need not: a mask that the code makes in single precision is read as garbage by attention on the CPU (torch 2.13), without an error.
    """
    sequence = call.sequence
    wide = call.with_sequence(sequence.double()) if sequence.is_floating_point() else call
    narrow = call.run(model)
    with contextlib.suppress(UsageError), _as_before_unless_done(model) as done:
        model.double()
        if _same(narrow, wide.run(model)) and _same(narrow, wide.run(model)):
            done()
            return wide
    return call


@contextlib.contextmanager
def _as_in_training() -> Iterator[None]:
    """Without the fused encoder layers of evaluation, which training never uses, and which looking inside would turn off half-way."""
    fast = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)


def _same(narrow: Tensor, wide: Tensor) -> bool:
    """Whether an output in double precision is that of the model's own precision but for its rounding."""
    if wide.dtype is not torch.float64 or wide.shape != narrow.shape:
        return False
    scale = float(narrow.double().abs().nan_to_num(0.0).amax()) or 1.0
    return float((wide - narrow.double()).abs().nan_to_num(math.inf).amax()) <= max(_ALIKE, 16 * torch.finfo(narrow.dtype).eps) * scale


@contextlib.contextmanager
def _as_before_unless_done(model: nn.Module) -> Iterator[Any]:
    dtypes = [(tensor, tensor.data) for tensor in model.parameters()]
    buffers = [(module, dict(module._buffers)) for module in model.modules()]
    finished: list[bool] = []
    try:
        yield lambda: finished.append(True)
    finally:
        if not finished:
            for tensor, data in dtypes:
                tensor.data = data
            for module, kept in buffers:
                module._buffers.update(kept)
