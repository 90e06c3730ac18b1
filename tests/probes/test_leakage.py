"""Validation data in training data, and labels that are in sight."""

from __future__ import annotations

import pytest
import torch
from recorder import loops
from torch import Tensor, nn
from torch.nn import functional

from sismo.errors import UsageError
from sismo.probes.leakage import labels, overlap

GENERATOR = torch.Generator().manual_seed(0)


def rows(count: int, length: int = 40) -> Tensor:
    return torch.randint(0, 1000, (count, length), generator=GENERATOR)


def test_data_that_share_nothing() -> None:
    found = overlap([rows(8) for _ in range(4)], [rows(8)])
    assert (found.exact, found.by_ngram, found.rows, found.ngrams) == (0.0, 0.0, 8, 8 * 28)


def test_rows_that_are_in_both() -> None:
    train, val = rows(16), rows(8)
    val[:2] = train[3:5]
    found = overlap([{"input_ids": part} for part in train.split(4)], [val])
    assert found.same_rows == 2
    assert found.by_ngram == 2 / 8


def test_a_passage_that_is_in_both_at_another_place() -> None:
    train, val = rows(16), rows(1)
    val[0, 10:30] = train[7, 5:25]
    found = overlap([train], [val])
    assert (found.same_rows, found.same_ngrams) == (0, 8)


def test_rows_shorter_than_an_ngram_and_no_rows_at_all() -> None:
    assert overlap([rows(2, 5)], [rows(2, 5)]).by_ngram == 0.0
    assert overlap([], []).exact == 0.0


@pytest.mark.parametrize("batch", [torch.zeros(3, 3), {"text": "words"}])
def test_batches_without_tokens_are_refused(batch: object) -> None:
    with pytest.raises(UsageError, match="tokens"):
        overlap([batch], [batch])


def shifts(model: nn.Module, batch: dict[str, Tensor]) -> Tensor:
    logits = model(batch["input_ids"])
    return functional.cross_entropy(logits[:, :-1].flatten(0, 1), batch["labels"][:, 1:].flatten())


def as_they_are(model: nn.Module, batch: dict[str, Tensor]) -> Tensor:
    return functional.cross_entropy(model(batch["input_ids"]).flatten(0, 1), batch["labels"].flatten())


def test_labels_that_are_the_inputs() -> None:
    model, _ = loops.build()
    tokens = loops.batches(1)[0]
    same = {"input_ids": tokens[:, :-1], "labels": tokens[:, :-1].clone()}
    ahead = {"input_ids": tokens[:, :-1], "labels": tokens[:, 1:]}
    assert labels(model, same, as_they_are).in_input  # type: ignore[union-attr]
    assert not labels(model, same, shifts).in_input  # type: ignore[union-attr]
    assert not labels(model, ahead, as_they_are).in_input  # type: ignore[union-attr]
    assert labels(model, tokens, loops.loss_of) is None


def test_the_share_of_tokens_that_carry_loss() -> None:
    model, _ = loops.build()
    tokens = loops.batches(1)[0][:, :-1]
    target = tokens.clone()
    target[:, :12] = -100
    found = labels(model, {"input_ids": tokens, "labels": target}, as_they_are)
    assert found is not None
    assert found.share == 0.25
    assert found.equal == 1.0
    assert not found.shifted
