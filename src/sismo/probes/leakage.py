"""Answers that are in sight where they should not be: validation data in training data, labels in the input, tokens without loss."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from sismo.errors import UsageError
from sismo.probes import step
from sismo.probes.examples import LABELS, Example, alike, examples, key, padding
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


@dataclass(frozen=True, slots=True)
class Overlap:
    """What two data sets share.

    Attributes:
        rows, same_rows: examples of the validation data, and those whose inputs are in the training data value for value.
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
        share: of the labels of the training data; None where batches name none.
        unlabelled: training batches in which no label carries loss. batches: all of them.
        unlabelled_val, batches_val: the same of the validation data.
    """

    overlap: Overlap
    share: float | None
    unlabelled: int
    batches: int
    unlabelled_val: int = 0
    batches_val: int = 0

    def report(self) -> ProbeReport:
        """The result for a run and a reader."""
        both = self.overlap
        shared = both.exact >= _ROWS or both.by_ngram >= _PASSAGES
        data: dict[str, object] = {"overlap": "yes" if shared else "no", "exact": both.exact, "by_ngram": both.by_ngram}
        notes: list[Note] = []
        if self.share is not None:
            data |= {"unlabelled": "yes" if self.unlabelled or self.unlabelled_val else "no", "label_share": self.share}
            notes.append(Note("labels", "{share:.1%} of the labels carry loss.", {"share": self.share}))
        if self.unlabelled:
            counts = {"count": self.unlabelled, "total": self.batches}
            notes.append(Note("unlabelled", "No label carries loss in {count} of {total} training batches.", counts))
        if self.unlabelled_val:
            counts = {"count": self.unlabelled_val, "total": self.batches_val}
            notes.append(Note("unlabelled-val", "No label carries loss in {count} of {total} validation batches.", counts))
        code, numbers = "overlap" if shared else "apart", {"same": both.same_rows, "rows": both.rows, "grams": both.by_ngram, "n": both.n}
        if both.ngrams:
            verdict = Note(
                code,
                "{same} of {rows} validation rows are training rows; {grams:.1%} of the passages of {n} tokens are in the training data.",
                numbers,
            )
        else:
            verdict = Note(code, "{same} of {rows} validation examples have the same input as a training example.", numbers)
        return ProbeReport("leakage", shared or bool(self.unlabelled or self.unlabelled_val), verdict, data, notes=tuple(notes))


@dataclass(frozen=True, slots=True)
class Labels:
    """How the labels of a batch lie to its inputs.

    Attributes:
        share: share of labels that carry loss. equal: share of those that equal the input at the same place. following: at the next place.
        shifted: whether the loss compares each output with the label after it, so that labels are rightly those of the inputs.
    """

    share: float
    equal: float
    following: float
    shifted: bool

    @property
    def next_token(self) -> bool | None:
        """Whether each place is asked for the next token; None where the labels leave it open, as those do that are the inputs do."""
        if self.following > 0.9 or (self.shifted and self.equal > 0.9):
            return True
        return None if self.shifted or self.in_input else False

    @property
    def in_input(self) -> bool:
        """Whether the model is asked for what it is shown: labels equal to the inputs that nobody shifts."""
        return self.equal > 0.99 and not self.shifted


def overlap(train: Iterable[Any], val: Iterable[Any], n: int = 13) -> Overlap:
    """Compares two loaders by whole examples and by n-grams (13 tokens, as the contamination study of GPT-3 has it).

    An example is what stands at one place of the first axis of its batch, and is compared by the content of its inputs, without labels,
    masks, padding and what is the same in all of them. Passages are those of the first input that is rows of tokens.

    Raises ``UsageError`` where nothing tells the examples apart.
    """
    if n < 1:
        raise UsageError(f"n is a number of tokens, 1 or more; not {n}")
    known, asked = alike(list(examples(train, n)), list(examples(val, n)))
    pads = padding([*known, *asked])
    keys = {key(example, pads) for example in known}
    theirs, mine = _passages(known), _passages(asked)
    passages = np.unique(np.concatenate(theirs)) if theirs else np.empty(0, np.int64)
    return Overlap(
        rows=len(asked),
        same_rows=sum(key(example, pads) in keys for example in asked),
        ngrams=sum(hashes.size for hashes in mine),
        same_ngrams=sum(int(np.isin(hashes, passages).sum()) for hashes in mine),
        n=n,
    )


def _passages(found: list[Example]) -> list[NDArray[np.int64]]:
    """The n-grams of the first input of each example that has some."""
    each = (next((part.grams for part in example.values() if part.grams is not None), None) for example in found)
    return [hashes for hashes in each if hashes is not None]


def leakage(train: Iterable[Any], val: Iterable[Any]) -> Leakage:
    """Goes through both loaders once. Raises ``UsageError`` as ``overlap`` does."""
    known, asked = _Counted(train), _Counted(val)
    both = overlap(known, asked)
    share = sum(known.shares) / len(known.shares) if known.shares else None
    return Leakage(both, share, known.unlabelled, known.batches, asked.unlabelled, asked.batches)


class _Counted:
    """A loader whose batches are counted on the way, with the share of their labels that carry loss."""

    def __init__(self, loader: Iterable[Any]) -> None:
        self._loader = loader
        self.shares: list[float] = []
        self.batches = 0

    def __iter__(self) -> Iterator[Any]:
        for batch in self._loader:
            self.batches += 1
            target = _target(batch)
            if target is not None:
                self.shares.append(float((target != _IGNORED).float().mean()))
            yield batch

    @property
    def unlabelled(self) -> int:
        """Batches in which no label carries loss."""
        return sum(share == 0 for share in self.shares)


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
    ahead = carries[:, :-1]
    following = float((target[:, :-1] == tokens[:, 1:])[ahead].float().mean()) if bool(ahead.any()) else 0.0
    other = tokens.clone()
    other[:, -1] = torch.where(tokens[:, -1] != tokens[:, 0], tokens[:, 0], tokens[:, tokens.shape[1] // 2])
    with untouched(model, None, loss_fn):
        model.eval()
        losses = [
            float(step.loss_of(model, mapped(batch, lambda tensor, swap=swap: swap if tensor is tokens else tensor), loss_fn).detach())
            for swap in (tokens, other)
        ]
    return Labels(float(carries.float().mean()), equal, following, losses[0] == losses[1])


def _target(batch: Any) -> Tensor | None:
    """The labels of a batch that names them."""
    return next((tensor for name, tensor in named(batch) if name.rpartition(".")[2] in LABELS and not tensor.is_floating_point()), None)


def _same_kind(tensor: Tensor, target: Tensor | None) -> bool:
    return target is not None and target.ndim == 2 and tensor.shape == target.shape and tensor.dtype == target.dtype
