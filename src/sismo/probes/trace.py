"""Follows the first non-finite number through the operations of a forward pass or an update.

Operations are seen by a dispatch mode, and modules by hooks. One pass over all of them rather than a second one inside a suspect module:
whether minus infinity is a mask or a failure only shows in where it came from, and that may be another module. It costs one more reading of
every result, once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from sismo.probes.origins import Check, Kind
from sismo.probes.tensors import Operand, describe, finite, named, tensors

_BLANK = ("empty", "empty_like", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided")
"""What they return has not been written yet."""
_COPIES = ("to_copy", "clone", "copy", "detach", "lift_fresh", "unsafe_view", "expand", "bernoulli", "alias")
"""Operations that are no step of the reasoning: left out of the trail."""
HIDDEN = "an operation that PyTorch does not see"
"""A kernel called past the dispatcher, as some extensions do: only the module's output shows what it did."""


class Fault(NamedTuple):
    """A place where a non-finite number came into being; ``mask`` where that is meant, as in an attention mask."""

    kind: Kind
    phase: str
    module: str
    op: str
    number: int
    inputs: tuple[Operand, ...]
    output: Operand | None
    mask: bool = False


class Trace(TorchDispatchMode):
    """Knows of every non-finite tensor which operation it descends from.

    Attributes:
        trail: what was looked at, in order; infinities of a mask count as finite there.

    ``phase`` is what operations outside of any module belong to. ``leaves`` are modules whose output says enough; without it no
    operation goes into the trail.
    """

    def __init__(self, phase: str, leaves: frozenset[str] | None = None) -> None:
        super().__init__()
        self._outside = phase
        self.trail: list[Check] = []
        self._leaves = leaves
        self._frames: list[str] = []
        # By storage, with the tensor beside it: as long as it is held, no other storage gets its address.
        self._lost: dict[int, tuple[Tensor, Fault]] = {}
        self._number = 0
        self._last_child = 0
        self._looking = False

    def known_as(self, tensor: Tensor, kind: Kind, phase: str, name: str, module: str = "") -> None:
        """A tensor from outside that may be non-finite: of the batch, or a weight."""
        value = describe(tensor, name)
        self.trail.append(Check(phase, module, name, value))
        if not value.finite:
            # A mask consists of zeros and minus infinity; a buffer of biases may hold other numbers beside it.
            zeros = value.low == value.high == 0.0 or phase == "buffers"
            mask = kind is not Kind.BAD_WEIGHT and zeros and not _has_nan([tensor])
            self._keep([tensor], Fault(kind, phase, module, name, self._number, (value,), value, mask))

    def origin_of(self, tensor: Tensor) -> Fault | None:
        """Where a tensor's non-finite numbers come from; None for a finite one."""
        return None if finite(tensor) else self._known(tensor)

    def entered(self, name: str, inputs: Any) -> None:
        """A module is called."""
        self._frames.append(name)

    def left(self, name: str, inputs: Any, output: Any) -> None:
        """A module returns."""
        # A module that raises is left without this call, and so are those inside it.
        while self._frames and self._frames.pop() != name:
            pass
        self._last_child = self._number if name else self._last_child
        with self._own_work():
            values = [(key, value) for key, value in named(output) if _numeric(value)]
            for key, value in values:
                self._note("forward", name, "", value, key)
                if not finite(value) and self._known(value) is None:
                    self._hidden(name, inputs, value)
        if name == "" and any(value.ndim == 0 for _, value in values):
            self._loss_inside()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None) -> Any:
        options = kwargs or {}
        result = func(*args, **options)
        name = plain_name(func)
        if not self._looking and name not in _BLANK:
            with self._own_work():
                self._number += 1
                # Operations on whole lists of tensors write into the first argument, and return nothing.
                made = args[:1] if result is None and func._schema.is_mutable else result
                self._see(name, func.is_view, args, options, [value for value in tensors(made) if _numeric(value)])
        return result

    @contextmanager
    def _own_work(self) -> Iterator[None]:
        """Hooks run inside the mode: what is measured in them is not part of the model."""
        self._looking = True
        try:
            yield
        finally:
            self._looking = False

    def _see(self, name: str, view: bool, args: Any, options: Any, outputs: list[Tensor]) -> None:
        lost = [value for value in outputs if not finite(value)]
        if lost:
            self._keep(lost, self._blame(name, args, options, lost))
        elif not view:
            for value in outputs:
                self._lost.pop(_storage(value), None)
        frame = self._frames[-1] if self._frames else None
        if outputs and not view and self._leaves is not None and frame not in self._leaves and name not in _COPIES:
            self._note(self._phase(), frame or "", name, outputs[0])

    def _note(self, phase: str, module: str, op: str, tensor: Tensor, name: str = "") -> None:
        value = describe(tensor, name)
        fault = None if value.finite else self._known(tensor)
        self.trail.append(Check(phase, module, op, value._replace(finite=value.finite or (fault is not None and fault.mask))))

    def _blame(self, name: str, args: Any, options: Any, lost: list[Tensor]) -> Fault:
        """What made these outputs non-finite: the earliest fault among the inputs, or this operation."""
        inputs = [*named(args), *named(options)]
        # What an operation changes in place is among its inputs as it is afterwards.
        bad = [tensor for _, tensor in inputs if not finite(tensor) and (self._known(tensor) or not any(tensor is value for value in lost))]
        faults = sorted((fault for tensor in bad if (fault := self._known(tensor))), key=lambda fault: fault.number)
        if real := [fault for fault in faults if not fault.mask]:
            return real[0]
        strangers = [tensor for tensor in bad if self._known(tensor) is None]
        operands = tuple(describe(tensor, f"input {place}") for place, (_, tensor) in enumerate(inputs) if _numeric(tensor))
        module = self._frames[-1] if self._frames else ""
        kind = {"forward": Kind.FORWARD, "loss": Kind.LOSS}.get(self._phase(), Kind.OPTIMIZER)
        meant = [sign for tensor in bad for sign in _signs(tensor)] + [math.copysign(1, number) for number in _numbers(args, options)]
        # Infinities that the code wrote down itself, or that were handed on from there.
        mask = not _has_nan([*lost, *strangers]) and all(sign in meant for value in lost for sign in _signs(value))
        if strangers and not mask:
            kind = Kind.BAD_CONSTANT
        return Fault(kind, self._phase(), module, name, self._number, operands, describe(lost[0], "result"), mask)

    def _hidden(self, name: str, inputs: Any, output: Tensor) -> None:
        faults = [fault for tensor in tensors(inputs) if (fault := self.origin_of(tensor)) is not None and not fault.mask]
        operands = tuple(describe(tensor, key) for key, tensor in named(inputs) if _numeric(tensor))
        fresh = Fault(Kind.FORWARD, "forward", name, HIDDEN, self._number, operands, describe(output, "result"))
        self._keep([output], faults[0] if faults else fresh)

    def _loss_inside(self) -> None:
        """A model that returns a loss works it out itself: what it does after its last part is the loss."""
        for place, (tensor, fault) in list(self._lost.items()):
            if fault.kind is Kind.FORWARD and fault.module == "" and fault.number > self._last_child:
                self._lost[place] = (tensor, fault._replace(kind=Kind.LOSS, phase="loss"))

    def _phase(self) -> str:
        return "forward" if self._frames else self._outside

    def _known(self, tensor: Tensor) -> Fault | None:
        found = self._lost.get(_storage(tensor))
        return found[1] if found else None

    def _keep(self, lost: list[Tensor], fault: Fault) -> None:
        for tensor in lost:
            self._lost[_storage(tensor)] = (tensor, fault)


@cache
def plain_name(func: Any) -> str:
    """``aten::_log_softmax.default`` as ``log_softmax``, ``aten::div_.Tensor`` as ``div``."""
    name = str(func._schema.name).rpartition("::")[2].strip("_").removeprefix("native_").removesuffix("_forward")
    if "scaled_dot_product" in name:
        return "scaled_dot_product_attention"
    return "softmax" if name == "safe_softmax" else name


def _numeric(tensor: Tensor) -> bool:
    return tensor.is_floating_point() or tensor.is_complex()


def _storage(tensor: Tensor) -> int:
    if tensor.layout is not torch.strided:
        return id(tensor)
    return tensor.untyped_storage().data_ptr()


def _has_nan(values: list[Tensor]) -> bool:
    return any(bool(value.isnan().any()) for value in values)


def _signs(tensor: Tensor) -> list[float]:
    return [sign for sign in (1.0, -1.0) if bool((tensor == sign * math.inf).any())]


def _numbers(args: Any, options: Any) -> Iterator[float]:
    """The infinities among the plain numbers that an operation was called with."""
    for value in (*args, *options.values()):
        for number in value if isinstance(value, (list, tuple)) else [value]:
            if isinstance(number, float) and math.isinf(number):
                yield number
