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


@pytest.mark.parametrize(
    "batch",
    [torch.zeros(3, 3), {"text": "words"}, torch.arange(12), {"labels": torch.arange(12).view(3, 4)}],
    ids=["all the same", "no tensor", "one axis", "labels alone"],
)
def test_batches_that_tell_no_examples_apart_are_refused(batch: object) -> None:
    with pytest.raises(UsageError, match="nothing to compare"):
        overlap([batch], [batch])


def test_images_are_compared_by_what_is_on_them_and_not_by_their_labels() -> None:
    images, digits = torch.randn(60, 3, 4, 4, generator=GENERATOR), torch.randint(0, 2, (60,), generator=GENERATOR)
    train = list(zip(images[:40].split(8), digits[:40].split(8), strict=True))
    inside, outside = (images[5:25], digits[5:25]), (images[40:], digits[40:])
    assert overlap(train, [inside]).same_rows == 20
    found = overlap(train, list(zip(outside[0].split(4), outside[1].split(4), strict=True)))
    assert (found.rows, found.same_rows) == (20, 0)


@pytest.mark.parametrize("beside", ["attention_mask", "label", "type"])
def test_what_is_the_same_in_all_examples_tells_nothing(beside: str) -> None:
    def batches(tokens: Tensor) -> list[dict[str, Tensor]]:
        shape = (4,) if beside == "label" else (4, 16)
        return [{beside: torch.full(shape, 7 if beside == "type" else 1), "input_ids": part} for part in tokens.split(4)]

    train = rows(40, 16)
    apart = overlap(batches(train), batches(rows(8, 16)))
    assert (apart.rows, apart.same_rows, apart.same_ngrams) == (8, 0, 0)
    assert overlap(batches(train), batches(train[2:10])).same_rows == 8


@pytest.mark.parametrize("masked", ["", "right", "left"])
def test_the_same_text_is_the_same_however_far_it_is_filled_up(masked: str) -> None:
    texts = [rows(1, int(length))[0] + 1 for length in torch.randint(5, 12, (60,), generator=GENERATOR)]
    others = [rows(1, int(length))[0] + 1 for length in torch.randint(5, 12, (20,), generator=GENERATOR)]

    def batches(some: list[Tensor], size: int) -> list[dict[str, Tensor]]:
        return [filled(some[at : at + size]) for at in range(0, len(some), size)]

    def filled(some: list[Tensor]) -> dict[str, Tensor]:
        side = masked or "right"
        masks = [torch.ones_like(text) for text in some]
        tokens, mask = (nn.utils.rnn.pad_sequence(each, batch_first=True, padding_side=side) for each in (some, masks))
        return {"attention_mask": mask, "input_ids": tokens} if masked else {"input_ids": tokens}

    assert overlap(batches(texts, 7), batches(texts[3:23], 3)).same_rows == 20
    assert overlap(batches(texts, 7), batches(others, 3)).same_rows == 0


def test_filling_is_no_passage() -> None:
    train, val = (functional.pad(rows(8, 12), (0, 30)) for _ in range(2))
    assert overlap([train], [val]).same_ngrams == 0


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
