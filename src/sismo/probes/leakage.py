"""Answers that are in sight where they should not be: validation data in training data, labels in the input, tokens without loss."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from sismo.errors import UsageError
from sismo.probes import step
from sismo.probes.step import LossFn
from sismo.probes.tensors import mapped, named
from sismo.probes.untouched import untouched
from sismo.records.probing import ProbeReport
from sismo.records.types import Note

_IGNORED = -100
"""The label that torch's cross-entropy leaves out."""
_ROWS = 0.01
"""Share of validation rows that are training rows from which the loss on them says little; a row or two may be the same by chance."""
_PASSAGES = 0.5
"""The same for passages, of which any corpus shares some: licences, headers, templates."""
_LABELS = ("labels", "label", "targets", "target", "y")


@dataclass(frozen=True, slots=True)
class Overlap:
    """What two data sets share.

    Attributes:
        rows, same_rows: rows of the validation data, and those that are in the training data token for token.
        ngrams, same_ngrams: n-grams of the validation data, and those that the training data has. n: their length.
    """

    rows: int
    same_rows: int
    ngrams: int
    same_ngrams: int
    n: int

    @property
    def exact(self) -> float:
        """Share of validation rows that are training rows; 0 without any."""
        return self.same_rows / self.rows if self.rows else 0.0

    @property
    def by_ngram(self) -> float:
        """Share of validation n-grams that training data has; 0 without any."""
        return self.same_ngrams / self.ngrams if self.ngrams else 0.0


@dataclass(frozen=True, slots=True)
class Leakage:
    """What two loaders share, and how many of the labels carry loss.

    Attributes:
        share: of the labels of the training data; None where batches name none. unlabelled: batches in which no label carries loss.
        batches: training batches.
    """

    overlap: Overlap
    share: float | None
    unlabelled: int
    batches: int

    def report(self) -> ProbeReport:
        """The result for a run and a reader."""
        both = self.overlap
        shared = both.exact >= _ROWS or both.by_ngram >= _PASSAGES
        data: dict[str, object] = {"overlap": "yes" if shared else "no", "exact": both.exact, "by_ngram": both.by_ngram}
        notes: list[Note] = []
        if self.share is not None:
            data |= {"unlabelled": "yes" if self.unlabelled else "no", "label_share": self.share}
            notes.append(Note("labels", "{share:.1%} of the labels carry loss.", {"share": self.share}))
        if self.unlabelled:
            numbers = {"count": self.unlabelled, "total": self.batches}
            notes.append(Note("unlabelled", "No label carries loss in {count} of {total} training batches.", numbers))
        verdict = Note(
            "overlap" if shared else "apart",
            "{same} of {rows} validation rows are training rows; {grams:.1%} of the passages of {n} tokens are in the training data.",
            {"same": both.same_rows, "rows": both.rows, "grams": both.by_ngram, "n": both.n},
        )
        return ProbeReport("leakage", shared or bool(self.unlabelled), verdict, data, notes=tuple(notes))


@dataclass(frozen=True, slots=True)
class Labels:
    """How the labels of a batch lie to its inputs.

    Attributes:
        share: share of labels that carry loss. equal: share of those that equal the input at the same place.
        shifted: whether the loss compares each output with the label after it, so that labels are rightly those of the inputs.
    """

    share: float
    equal: float
    shifted: bool

    @property
    def in_input(self) -> bool:
        """Whether the model is asked for what it is shown: labels equal to the inputs that nobody shifts."""
        return self.equal > 0.99 and not self.shifted


def overlap(train: Iterable[Any], val: Iterable[Any], n: int = 13) -> Overlap:
    """Compares two loaders of token batches by whole rows and by n-grams (13 tokens, as the contamination study of GPT-3 has it).

    Each batch is a tensor of (rows, tokens), or holds one: the first of whole numbers. Raises ``UsageError`` for a batch without.
    """
    if n < 1:
        raise UsageError(f"n is a number of tokens, 1 or more; not {n}")
    rows: set[bytes] = set()
    grams: list[NDArray[np.int64]] = []
    for row in _rows(train):
        rows.add(row.tobytes())
        grams.append(_hashes(row, n))
    known = np.unique(np.concatenate(grams)) if grams else np.empty(0, np.int64)
    other = list(_rows(val))
    mine = [_hashes(row, n) for row in other]
    return Overlap(
        rows=len(other),
        same_rows=sum(row.tobytes() in rows for row in other),
        ngrams=sum(hashes.size for hashes in mine),
        same_ngrams=sum(int(np.isin(hashes, known).sum()) for hashes in mine),
        n=n,
    )


def leakage(train: Iterable[Any], val: Iterable[Any]) -> Leakage:
    """Goes through both loaders once. Raises ``UsageError`` as ``overlap`` does."""
    shares: list[float] = []
    batches = 0

    def counted() -> Iterator[Any]:
        nonlocal batches
        for batch in train:
            batches += 1
            target = _target(batch)
            if target is not None:
                shares.append(float((target != _IGNORED).float().mean()))
            yield batch

    both = overlap(counted(), val)
    return Leakage(both, sum(shares) / len(shares) if shares else None, sum(share == 0 for share in shares), batches)


def labels(model: nn.Module, batch: Any, loss_fn: LossFn) -> Labels | None:
    """Compares labels and inputs of a batch that has both in one shape, and tries whether they are shifted. None without them.

    A loss that shifts never asks what comes after the last input: another last input leaves it as it is, in a causal model.
    """
    target = _target(batch)
    tokens = next((tensor for _, tensor in named(batch) if tensor is not target and _same_kind(tensor, target)), None)
    if target is None or tokens is None:
        return None
    carries = target != _IGNORED
    equal = float((target == tokens)[carries].float().mean()) if bool(carries.any()) else 0.0
    other = tokens.clone()
    other[:, -1] = torch.where(tokens[:, -1] != tokens[:, 0], tokens[:, 0], tokens[:, tokens.shape[1] // 2])
    with untouched(model), torch.no_grad():
        model.eval()
        losses = [
            float(step.loss_of(model, mapped(batch, lambda tensor, swap=swap: swap if tensor is tokens else tensor), loss_fn))
            for swap in (tokens, other)
        ]
    return Labels(float(carries.float().mean()), equal, losses[0] == losses[1])


def _target(batch: Any) -> Tensor | None:
    """The labels of a batch that names them."""
    return next((tensor for name, tensor in named(batch) if name.rpartition(".")[2] in _LABELS and not tensor.is_floating_point()), None)


def _same_kind(tensor: Tensor, target: Tensor | None) -> bool:
    return target is not None and target.ndim == 2 and tensor.shape == target.shape and tensor.dtype == target.dtype


def _rows(loader: Iterable[Any]) -> Iterator[NDArray[np.int64]]:
    for batch in loader:
        parts = [tensor for _, tensor in named(batch if isinstance(batch, (Mapping, list, tuple)) else [batch])]
        tokens = next((tensor for tensor in parts if not tensor.is_floating_point() and tensor.dtype is not torch.bool), None)
        if tokens is None or not 1 <= tokens.ndim <= 2:
            raise UsageError("a batch without a tensor of tokens, rows by positions: there is nothing to compare")
        yield from torch.atleast_2d(tokens).detach().cpu().long().numpy()


def _hashes(row: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """A 64-bit number for every n-gram of a row. Two different ones share it once in about 10^19."""
    if row.size < n:
        return np.empty(0, np.int64)
    factors = np.random.default_rng(13).integers(-(2**62), 2**62, n) * 2 + 1
    mixed = (row + 1) * np.int64(-7046029254386353131)
    mixed ^= mixed >> 29
    return np.unique(np.lib.stride_tricks.sliding_window_view(mixed, n) @ factors)
