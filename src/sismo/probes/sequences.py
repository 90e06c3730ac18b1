"""The call of a sequence model: which tensor is the sequence, where time runs, and the call with another future."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from sismo.errors import UsageError
from sismo.probes import step
from sismo.probes.step import LossFn
from sismo.probes.tensors import mapped, named
from sismo.probes.untouched import untouched

_BESIDE = re.compile(r"mask|label|target|position|type|cache|past", re.IGNORECASE)
"""Names of what goes with a sequence and is not it."""
_LONGEST = 64
"""Positions that are looked at: what lets the future in does so in a short sequence too."""


class _NoPositions(UsageError):
    """The output has no axis of positions."""

    def __init__(self, length: int) -> None:
        super().__init__(
            f"the model's output has no axis of {length} positions: it is no sequence model whose future could be hidden, "
            "as a classifier of whole sequences is none"
        )


class Call(NamedTuple):
    """One call of a model. ``name`` is the path of the sequence among the arguments, ``axis`` the one along which time runs."""

    arguments: tuple[Any, ...]
    options: dict[str, Any]
    name: str
    axis: int

    @property
    def sequence(self) -> Tensor:
        """The tokens, or whatever else comes one after another."""
        return dict(named((self.arguments, self.options)))[self.name]

    @property
    def length(self) -> int:
        """Positions of the sequence."""
        return self.sequence.shape[self.axis]

    def run(self, model: nn.Module) -> Tensor:
        """The model's own output: its logits, where it names them, else the first one that has a value for every position.

        Each run begins with the same random numbers and the same memory of what came before, so that two of them differ by their input
        alone. Raises ``UsageError`` where there is no such output, whatever the modules within give.
        """
        try:
            with untouched(model), torch.no_grad(), torch.compiler.set_stance("force_eager"):
                output = model(*self.arguments, **self.options)
        except Exception as error:
            raise UsageError(f"the model failed on this batch: {step.one_line(error)}") from error
        return self.chosen(output)

    def chosen(self, output: Any) -> Tensor:
        """Of what the model gives, the tensor that is looked at. Raises ``UsageError`` where none has a value for every position."""
        floating = [(name, tensor) for name, tensor in named(output) if tensor.is_floating_point()]
        logits = [tensor for name, tensor in floating if name.rpartition(".")[2] == "logits"]
        found = [tensor for tensor in logits or [tensor for _, tensor in floating] if self._by_position(tensor)]
        if not found:
            raise _NoPositions(self.length)
        return found[0]

    def _by_position(self, output: Tensor) -> bool:
        """Whether an output has an axis of positions. That of the examples is none, if it is as long."""
        examples = self.axis != 0 and output.ndim >= 1 and output.shape[0] == self.sequence.shape[0]
        rest = output[0] if examples else output
        rows = output.ndim == 2 and self.axis <= 1 and output.shape[0] == self.sequence.shape[0] * self.sequence.shape[1]
        return rows or time_axis(rest, self.length, self.axis) is not None

    def with_sequence(self, sequence: Tensor) -> Call:
        """The same call with another sequence."""
        old = self.sequence
        arguments, options = mapped((self.arguments, self.options), lambda tensor: sequence if tensor is old else tensor)
        return self._replace(arguments=arguments, options=options)

    def with_future(self, cut: int, seed: int) -> Call:
        """The same call with everything from position ``cut`` on replaced: tokens by others of the batch, numbers by noise."""
        generator = torch.Generator().manual_seed(seed)
        old = self.sequence
        future = old.narrow(self.axis, cut, self.length - cut)
        if old.is_floating_point():
            spread = float(old.float().std()) or 1.0
            fresh = 3 * spread * torch.randn(future.shape, generator=generator)
        else:
            known = old.unique().cpu()
            place = torch.searchsorted(known, future.cpu().contiguous())
            # At least one and never all the way round: every token becomes another one.
            fresh = known[(place + torch.randint(1, max(2, len(known)), future.shape, generator=generator)) % len(known)]
        past = old.narrow(self.axis, 0, cut)
        return self.with_sequence(torch.cat([past, fresh.to(old)], self.axis))

    def cropped(self, length: int) -> Call:
        """The same call on the first positions only, of the sequence and of everything that is as long."""
        whole, sequence = self.length, self.sequence

        def crop(tensor: Tensor) -> Tensor:
            axes = [self.axis] if tensor is sequence else [axis for axis, size in enumerate(tensor.shape) if size == whole]
            for axis in axes:
                tensor = tensor.narrow(axis, 0, length)
            return tensor

        arguments, options = mapped((self.arguments, self.options), crop)
        return self._replace(arguments=arguments, options=options)


def calls_of(model: nn.Module, batch: Any, loss_fn: LossFn | None, axis: int) -> list[Call]:
    """How the model is called: as ``loss_fn`` does, or with the batch itself; once for each sequence that it gets."""
    if loss_fn is not None:
        arguments, options = _as_called(model, batch, loss_fn)
    elif isinstance(batch, Mapping):
        arguments, options = (), dict(batch)
    else:
        arguments, options = (batch[0] if isinstance(batch, (list, tuple)) else batch,), {}
    return calls_as_made(arguments, options, axis)


def calls_as_made(arguments: tuple[Any, ...], options: dict[str, Any], axis: int) -> list[Call]:
    """A call with these arguments, at its full length, for each of them that is a sequence. Raises ``UsageError`` where none is."""
    found: list[Call] = []
    for name, tensor in named((arguments, options)):
        if tensor.ndim >= 2 and not _BESIDE.search(name) and tensor.dtype is not torch.bool:
            at = axis % tensor.ndim
            if tensor.shape[at] >= 2:
                found.append(Call(arguments, options, name, at))
    if not found:
        raise UsageError("the model is called with no sequence of two positions or more")
    return found


def time_axis(tensor: Tensor, length: int, usual: int) -> int | None:
    """The axis of a tensor that has one entry for every position; None where there is none."""
    axes = [axis for axis, size in enumerate(tensor.shape) if size == length]
    if not axes:
        return None
    if tensor.ndim >= 3 and axes[-2:] == [tensor.ndim - 2, tensor.ndim - 1]:
        return tensor.ndim - 2  # scores of queries against keys
    return usual if usual in axes else axes[0]


def moves(one: Tensor, other: Tensor, length: int, usual: int) -> Tensor | None:
    """By how much each position differs, at most over everything else; None where positions cannot be told."""
    axis = time_axis(one, length, usual)
    if one.shape != other.shape or not one.is_floating_point():
        return None
    gap = (one.double() - other.double()).abs().nan_to_num(math.inf)
    gap = gap.masked_fill(
        (one == other) | (one.isnan() & other.isnan()), 0.0
    )  # of two infinities, as a mask has them, the difference is none
    if axis is None and gap.ndim and gap.shape[0] % length == 0:
        # Rows of a batch, one position after the other; or where time comes first, one example after the other.
        gap, axis = (gap.reshape(length, -1, *gap.shape[1:]), 0) if usual == 0 else (gap.reshape(-1, length, *gap.shape[1:]), 1)
    return None if axis is None else gap.movedim(axis, 0).flatten(1).amax(1) if gap.ndim > 1 else gap


def _as_called(model: nn.Module, batch: Any, loss_fn: LossFn) -> tuple[tuple[Any, ...], dict[str, Any]]:
    calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = []
    handle = model.register_forward_pre_hook(lambda _, arguments, options: calls.append((arguments, options)), with_kwargs=True)
    try:
        step.loss_of(model, batch, loss_fn)
    finally:
        handle.remove()
    if not calls:
        raise UsageError("the loss function never calls the model itself")
    return calls[0]


def short(model: nn.Module, call: Call) -> Call:
    """A length that no other axis has, so that positions can be told from features; the whole sequence where the model fails on less."""
    taken = {size for parameter in model.parameters() for size in parameter.shape} | {call.sequence.shape[0]}
    length = min(call.length, _LONGEST)
    while length in taken and length > 3:
        length -= 1
    if length == call.length:
        return call
    short = call.cropped(length)
    try:
        short.run(model)
    except _NoPositions:
        raise _NoPositions(call.length) from None
    except UsageError:
        return call
    return short
