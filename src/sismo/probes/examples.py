"""The examples of a loader, each by the content of what a model is shown of it: for telling whether two loaders share some."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sismo.errors import UsageError
from sismo.probes.tensors import named

LABELS = ("labels", "label", "targets", "target", "y")
_MASK = "attention_mask"
_NOTHING = "no tensor of a batch tells examples apart (examples by values, not the same in all of them): there is nothing to compare"


class Part(NamedTuple):
    """One input of one example.

    Attributes:
        whole: a digest of its content. head: the same without the value that it ends with, as often as that stands there.
        last, run: that value, and how often. They are those of a row of tokens, as is ``grams``, the n-grams without a repeated end.
    """

    whole: bytes
    head: bytes = b""
    last: int | None = None
    run: int = 0
    grams: NDArray[np.int64] | None = None


Example = dict[str, Part]


def examples(loader: Iterable[Any], n: int) -> Iterator[Example]:
    """The inputs of every example by name, with n-grams of ``n`` tokens. Raises ``UsageError`` for a batch without a tensor of two axes."""
    for batch in loader:
        inputs = _inputs(batch)
        if not inputs:
            raise UsageError(_NOTHING)
        masks = [tensor for name, tensor in named(batch) if name.rpartition(".")[2] == _MASK]
        for at in range(len(next(iter(inputs.values())))):
            yield {
                name: _tokens(tensor[at], [mask[at] for mask in masks if mask.shape == tensor.shape], n) if _is_tokens(tensor)
                else Part(_digest(tensor[at]))
                for name, tensor in inputs.items()
            }  # fmt: skip


def alike(train: list[Example], val: list[Example]) -> tuple[list[Example], list[Example]]:
    """The same examples by the inputs that both loaders have and that are not the same in every example.

    Inputs are matched by their names, or by their places where no name is in both. Raises ``UsageError`` where none is left.
    """
    if not (train and val):
        return train, val
    if not any(name in val[0] for name in train[0]):
        train, val = ([{str(place): part for place, part in enumerate(example.values())} for example in side] for side in (train, val))
    everything = [*train, *val]
    shared = [name for name in train[0] if all(name in example for example in everything)]
    varied = [name for name in shared if len({example[name].whole for example in everything}) > 1]
    if not varied:
        raise UsageError(_NOTHING)
    return [{name: example[name] for name in varied} for example in train], [{name: example[name] for name in varied} for example in val]


def padding(found: Sequence[Example]) -> dict[str, int]:
    """The value that fills up the rows of an input: the one that most of them end with more than once."""
    ends: dict[str, Counter[int]] = {}
    for example in found:
        for name, part in example.items():
            if part.last is not None and part.run > 1:
                ends.setdefault(name, Counter())[part.last] += 1
    return {name: count.most_common(1)[0][0] for name, count in ends.items()}


def key(example: Example, pads: dict[str, int]) -> tuple[bytes, ...]:
    """What is the same for the same example, however far its rows are filled up."""
    return tuple(part.head if part.last is not None and part.last == pads.get(name) else part.whole for name, part in example.items())


def _inputs(batch: Any) -> dict[str, Tensor]:
    """What a model is shown: no labels, which are one number for each example or are called so, and no masks."""
    parts = [(name, tensor) for name, tensor in named(batch) if tensor.ndim > 1 and name.rpartition(".")[2] not in LABELS]
    plain = [tensor for _, tensor in parts if not _binary(tensor)]
    return {
        name: tensor
        for name, tensor in parts
        if len(tensor) == len(parts[0][1]) and not (_binary(tensor) and any(tensor.shape[:2] == other.shape[:2] for other in plain))
    }


def _binary(tensor: Tensor) -> bool:
    return bool(((tensor == 0) | (tensor == 1)).all())


def _is_tokens(tensor: Tensor) -> bool:
    return tensor.ndim == 2 and not tensor.is_floating_point() and not tensor.is_complex()


def _tokens(row: Tensor, masks: Sequence[Tensor], n: int) -> Part:
    for mask in masks:
        row = row[mask != 0]
    values = row.detach().cpu().long().numpy()
    if not values.size:
        return Part(b"")
    other = np.flatnonzero(values != values[-1])
    head = values[: other[-1] + 1 if other.size else 0]
    run = values.size - head.size
    grams = _hashes(head if run > 1 else values, n)
    return Part(_hash(values.tobytes()), _hash(head.tobytes()), int(values[-1]), run, grams)


def _digest(tensor: Tensor) -> bytes:
    return _hash(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())


def _hash(content: bytes) -> bytes:
    return blake2b(content, digest_size=16).digest()


def _hashes(row: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """A 64-bit number for every n-gram of a row. Two different ones share it once in about 10^19."""
    if row.size < n:
        return np.empty(0, np.int64)
    factors = np.random.default_rng(13).integers(-(2**62), 2**62, n) * 2 + 1
    mixed = (row + 1) * np.int64(-7046029254386353131)
    mixed ^= mixed >> 29
    return np.unique(np.lib.stride_tricks.sliding_window_view(mixed, n) @ factors)
