"""What the search for the first non-finite number comes to: plain data."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from sismo.probes.tensors import Operand
from sismo.records.probing import ProbeReport, word
from sismo.records.types import Note


class Kind(StrEnum):
    """What went wrong first."""

    BAD_INPUT = "bad-input"
    BAD_WEIGHT = "bad-weight"
    BAD_CONSTANT = "bad-constant"
    FORWARD = "forward"
    LOSS = "loss"
    BACKWARD = "backward"
    OPTIMIZER = "optimizer"


class Check(NamedTuple):
    """One place that was looked at: in which phase, in which module, after which operation (empty for the module's output)."""

    phase: str
    module: str
    op: str
    value: Operand


@dataclass(frozen=True, slots=True)
class Origin:
    """Where the first non-finite number of a step comes from.

    Attributes:
        kind: what went wrong first; None when the whole step is finite. phase: ``inputs``, ``weights``, ``forward``, ``loss``,
            ``backward``, ``optimizer-state`` or ``update``.
        module: path of the module whose own code it is (``blocks.1.attn``), empty for the model itself and for the loss function.
        op: the operation (``softmax``, ``log``, ``addmm``); for a bad tensor, its name.
        inputs: what the operation got: shape, dtype, range just before, and whether it was finite.
        output: what it gave.
        trail: everything that was looked at, in the order in which it ran.
    """

    kind: Kind | None
    phase: str = ""
    module: str = ""
    op: str = ""
    inputs: tuple[Operand, ...] = ()
    output: Operand | None = None
    trail: tuple[Check, ...] = ()

    @property
    def found(self) -> bool:
        """Whether anything was non-finite."""
        return self.kind is not None

    @property
    def overflow(self) -> bool:
        """Whether a finite number grew past what half precision holds."""
        half = self.output is not None and self.output.dtype == "float16"
        return half and self.kind in (Kind.FORWARD, Kind.LOSS, Kind.BACKWARD) and all(operand.finite for operand in self.inputs)

    @property
    def where(self) -> str:
        """The place in a few words: ``blocks.1.attn: softmax``."""
        return f"{self.module}: {self.op}" if self.module else self.op

    def report(self) -> ProbeReport:
        """The result for a run and a reader."""
        data: dict[str, object] = {"origin": "found" if self.found else "none", "op": "none"}
        if self.kind is not None:
            data |= {"op": _family(self), "where": self.where, "kind": self.kind.value, "phase": self.phase, "module": self.module}
            data["operation"] = self.op
            made = self.kind in (Kind.FORWARD, Kind.LOSS, Kind.BACKWARD)
            data["what"] = "operation" if made else "tensor"
            data["over"] = "nothing" if self.op in _MEANS and self.kind is not Kind.BACKWARD else "something"
        data["inputs"] = "bad" if self.kind is Kind.BAD_INPUT else "finite"
        # What follows the first number that is not finite, and descends from it, says nothing of where it comes from.
        until = next((place for place, check in enumerate(self.trail, 1) if not check.value.finite), None)
        columns = (word("phase"), word("module"), word("operation"), word("shape"), word("dtype"), word("range"), word("finite"))
        return ProbeReport("nan", self.found, _verdict(self), data, columns, tuple(_rows(self.trail)), tuple(_details(self)), until)


_LOGS = ("log", "log2", "log10", "log1p", "xlogy")
_DIVISIONS = ("div", "reciprocal", "mean", "nll_loss", "rsqrt")
_MEANS = ("mean", "nanmean", "nll_loss")
"""Operations that divide by how many numbers there are: not finite with finite inputs only where there is none."""
_ROOTS = ("sqrt", "rsqrt", "pow", "norm", "linalg_vector_norm", "cdist", "std", "std_mean", "acos", "asin", "acosh")
"""Operations whose derivative is infinite at the end of where they are defined, where they themselves are finite."""


def _family(origin: Origin) -> str:
    """The kind of operation by which the detectors tell causes apart."""
    if origin.kind is Kind.BAD_INPUT:
        return "input"
    if origin.kind is Kind.BAD_WEIGHT:
        return "weight"
    if origin.kind is Kind.BAD_CONSTANT:
        return "constant"
    if origin.overflow:
        return "half-overflow"
    if origin.kind is Kind.BACKWARD:
        return "embedding-gradient" if origin.op == "embedding" else "backward" if origin.op in _ROOTS else "other-backward"
    if origin.kind is Kind.OPTIMIZER:
        return "optimizer"
    if origin.op in _LOGS:
        return "log"
    if origin.op in _DIVISIONS:
        return "div"
    return "attention" if "softmax" in origin.op or "attention" in origin.op else origin.op


def _verdict(origin: Origin) -> Note:
    numbers = {"where": origin.where, "op": origin.op, "module": origin.module or "-"}
    match origin.kind:
        case None:
            return Note("origin-none", "Every number of this step is finite: inputs, weights, activations, loss, gradients and update.")
        case Kind.BAD_INPUT:
            return Note("origin-input", "The batch is not finite before the model sees it: {op}.", numbers)
        case Kind.BAD_WEIGHT:
            return Note("origin-weight", "The weight {op} is not finite before any operation touches it.", numbers)
        case Kind.BAD_CONSTANT:
            return Note(
                "origin-constant",
                "A tensor that is neither in the batch nor a weight is not finite when {where} takes it: a constant of the code, as class "
                "weights are, or a result that PyTorch did not see come about.",
                numbers,
            )
        case Kind.FORWARD:
            return Note("origin-forward", "The first non-finite number comes out of {where}, in the forward pass.", numbers)
        case Kind.LOSS:
            return Note("origin-loss", "The model is finite; the first non-finite number comes out of {where}, in the loss.", numbers)
        case Kind.BACKWARD:
            return Note("origin-backward", "The loss is finite; the gradient is lost going back through {where}.", numbers)
        case Kind.OPTIMIZER:
            return Note("origin-optimizer", "Loss and gradients are finite; the update is lost at {where}.", numbers)


def _details(origin: Origin) -> Iterator[Note]:
    for operand in origin.inputs:
        numbers = {"name": operand.name, "shape": list(operand.shape), "dtype": operand.dtype, "low": operand.low, "high": operand.high}
        if math.isnan(operand.low):
            yield Note("operand-empty", "It got {name} {shape} {dtype}, without a finite value.", numbers)
        elif operand.finite:
            yield Note("operand-finite", "It got {name} {shape} {dtype}, finite, {low:.3g} to {high:.3g}.", numbers)
        else:
            yield Note("operand-lost", "It got {name} {shape} {dtype}, not finite; its finite values: {low:.3g} to {high:.3g}.", numbers)
    if origin.overflow:
        yield Note("half-overflow", "The result does not fit into half precision (65504 at most); the same step in fp32 tells.")


def _rows(trail: tuple[Check, ...]) -> Iterator[tuple[str, ...]]:
    for check in trail:
        value = check.value
        shape = "×".join(str(size) for size in value.shape)
        yield (check.phase, check.module, check.op, shape, value.dtype, value.range, word("yes") if value.finite else word("no"))
