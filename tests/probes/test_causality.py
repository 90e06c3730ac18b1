"""Whether the future moves the past: none missed, none accused, and the module named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from probes.sequences import ARCHITECTURES, Attention, Convolution, Model, Sequence, ones, tokens, tril
from recorder import loops
from torch import Tensor, nn
from torch.nn import functional

import sismo
from sismo.errors import UsageError
from sismo.probes.case import Built, Case
from sismo.probes.causality import causality
from sismo.probes.kinds import causal


@pytest.mark.parametrize("known", [pytest.param(known, id=name) for name, known in ARCHITECTURES.items()])
def test_every_architecture_is_told_for_what_it_is(known: Sequence) -> None:
    torch.manual_seed(0)
    model = known.make()
    found = causality(model, known.batch())
    assert (found.order, found.module, found.visible) == (known.order, known.module, known.visible), found
    if known.order == "leaks":
        assert found.first is not None
        assert found.by is not None
        assert found.first < found.by
        assert found.report().data["causality"] == "broken"
        assert found.report().data["where"] == known.module


def test_nothing_is_changed_and_no_dtype_is_left() -> None:
    model, optimizer = loops.build()
    before = loops.digest(model, optimizer, [])
    assert causality(model, loops.batches(1)[0], loops.loss_of).causal
    assert loops.digest(model, optimizer, []) == before
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}
    assert model.training


def test_through_a_loss_function_that_calls_the_model_its_own_way() -> None:
    def loss(model: nn.Module, batch: dict[str, Tensor]) -> Tensor:
        logits = model(tokens=batch["rows"][:, :-1])
        return functional.cross_entropy(logits.flatten(0, 1), batch["rows"][:, 1:].flatten())

    for mask, sound in ((tril, True), (ones, False)):
        assert causality(Model(Attention(mask)), {"rows": tokens()}, loss).causal is sound


def test_numbers_instead_of_tokens_and_time_as_the_last_axis() -> None:
    sequence = torch.randn(2, 16, 13)

    class Net(nn.Module):
        def __init__(self, *, causal: bool) -> None:
            super().__init__()
            self.inner = Convolution(causal=causal)

        def forward(self, x: Tensor) -> Tensor:
            return self.inner(x.mT).mT

    assert causality(Net(causal=True), sequence, axis=-1).causal
    found = causality(Net(causal=False), sequence, axis=-1)
    assert (found.causal, found.module) == (False, "inner.conv")


def test_width_and_length_that_are_the_same_number() -> None:
    for mask, sound in ((tril, True), (ones, False)):
        assert causality(Model(Attention(mask)), tokens(16)).causal is sound


def test_a_model_that_insists_on_single_precision() -> None:
    class Single(Model):
        def forward(self, tokens: Tensor, attention_mask: Tensor | None = None) -> Tensor:
            x = self.first(self.embed(tokens) + torch.zeros(1, dtype=torch.float32))
            return self.head((x + self.mixer(x)).to(torch.float32))

    for mask, sound in ((tril, True), (ones, False)):
        assert causality(Single(Attention(mask)), tokens()).causal is sound


@pytest.mark.parametrize("model", [nn.Linear(4, 4), nn.Sequential(nn.Flatten(), nn.Linear(20, 3))])
def test_what_is_no_sequence_model_is_refused(model: nn.Module) -> None:
    batch: Any = torch.randn(4) if isinstance(model, nn.Linear) else torch.randn(2, 5, 4)
    with pytest.raises(UsageError):
        causality(model, batch)


class _Encoder(nn.Module):
    """A bidirectional encoder; with ``pooled`` it gives one answer for the whole sequence, beside its hidden states."""

    def __init__(self, pooled: bool) -> None:
        super().__init__()
        self.pooled, self.embed, self.head = pooled, nn.Embedding(40, 16), nn.Linear(16, 5)
        layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)

    def forward(self, tokens: torch.Tensor) -> Any:
        hidden = self.encoder(self.embed(tokens))
        return {"hidden": hidden, "logits": self.head(hidden.mean(1))} if self.pooled else self.head(hidden)


@pytest.mark.parametrize("shape", [(16, 16), (3, 16), (5, 5), (3, 5)])
def test_a_classifier_of_whole_sequences_is_refused_whatever_its_size(shape: tuple[int, int]) -> None:
    with pytest.raises(UsageError, match=f"no axis of {shape[1]} positions"):
        causality(_Encoder(pooled=True), torch.randint(0, 40, shape))


@pytest.mark.parametrize(("asked", "found"), [("tags", False), ("next", True)])
def test_an_encoder_is_at_fault_only_where_the_next_token_is_asked_for(asked: str, found: bool, tmp_path: Path) -> None:
    words = torch.randint(0, 5, (4, 13), generator=torch.Generator().manual_seed(0))
    target = words[:, 1:] if asked == "next" else (words[:, :-1] + 1) % 5
    batch = {"tokens": words[:, :-1], "labels": target}

    def loss_fn(model: nn.Module, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        return nn.functional.cross_entropy(model(batch["tokens"]).flatten(0, 1), batch["labels"].flatten())

    torch.save(batch, path := tmp_path / "batch.pt")
    report = causal.run(Case(Built(_Encoder(pooled=False), loss_fn), given_batch=path))
    assert report.found is found
    assert (report.data.get("causality") == "broken") is found
    assert "meant to see ahead" in " ".join(note.text for note in report.notes)


def test_the_public_name() -> None:
    assert sismo.causality is causality
