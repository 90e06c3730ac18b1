"""Whether the future moves the past: none missed, none accused, and the module named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from probes.sequences import ARCHITECTURES, Attention, Convolution, Model, Sequence, ones, prefix, tokens, tril
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
        assert found.report().found is False  # without a loss nothing says what the model is for
        asked = causality(model, known.batch(), next_token).report()
        assert asked.data["causality"] == "broken"
        assert asked.data["where"] == known.module


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


TOKENS = 11


def next_token(model: nn.Module, batch: Any) -> Tensor:
    """Every position is asked for the token after it, whatever the batch is called."""
    rows = batch["tokens"] if isinstance(batch, dict) else batch
    logits = model(**batch) if isinstance(batch, dict) else model(rows)
    return functional.cross_entropy(logits[:, :-1].flatten(0, 1), rows[:, 1:].flatten())


def masked(model: nn.Module, batch: Tensor) -> Tensor:
    """A masked language model: some places are hidden, and those are asked for."""
    hidden = torch.rand(batch.shape, generator=torch.Generator().manual_seed(1)) < 0.3
    logits = model(torch.where(hidden, 0, batch))
    return functional.cross_entropy(logits[hidden], batch[hidden])


def tags(model: nn.Module, batch: Tensor) -> Tensor:
    """A tagger: each place has a tag of its own."""
    return functional.cross_entropy(model(batch).flatten(0, 1), (batch.flatten() * 3 + 1) % 7)


def own_token(model: nn.Module, batch: Tensor) -> Tensor:
    """An autoencoder: each place is asked for itself."""
    return functional.cross_entropy(model(batch).flatten(0, 1), batch.flatten())


def two_ahead(model: nn.Module, batch: Tensor) -> Tensor:
    """Each place is asked for the token after the next."""
    return functional.cross_entropy(model(batch)[:, :-2].flatten(0, 1), batch[:, 2:].flatten())


def smoothed(model: nn.Module, batch: Tensor) -> Tensor:
    logits = model(batch[:, :-1])
    extra = 1e-4 * logits.logsumexp(-1).square().mean()
    return extra + functional.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten(), label_smoothing=0.1)


class _Encoder2(nn.Module):
    """A bidirectional encoder with a head over the vocabulary."""

    def __init__(self, classes: int = TOKENS) -> None:
        super().__init__()
        self.embed, self.head = nn.Embedding(TOKENS, 16), nn.Linear(16, classes)
        layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.head(self.encoder(self.embed(tokens)))


class _Peeks(nn.Module):
    """A decoder that is shown the token that it is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.head = nn.Embedding(TOKENS, 16), nn.Linear(16, TOKENS)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.head(self.embed(tokens).roll(-1, 1))


def rows(count: int = 6, length: int = 18) -> Tensor:
    return torch.randint(1, TOKENS, (count, length), generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("loss_fn", [masked, tags, own_token])
def test_a_model_that_is_asked_for_no_next_token_may_see_ahead_without_any_labels_in_its_batch(loss_fn: Any) -> None:
    report = causality(_Encoder2(), rows(), loss_fn).report()
    assert not report.found
    assert report.data == {"bidirectional": "yes"}


@pytest.mark.parametrize("loss_fn", [next_token, two_ahead, smoothed])
def test_a_decoder_that_sees_ahead_is_broken_however_its_loss_asks_for_the_next_token(loss_fn: Any) -> None:
    report = causality(_Encoder2(), rows(), loss_fn).report()
    assert report.found
    assert report.data["causality"] == "broken"


def test_a_leaky_decoder_is_found_after_it_has_learnt_to_look() -> None:
    """Its loss is next to nothing and has next to no gradient."""
    torch.manual_seed(0)
    model, batch = _Peeks(), rows()
    optimizer = torch.optim.Adam(model.parameters(), 0.1)
    for _ in range(300):
        loss = next_token(model, batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert float(loss.detach()) < 1e-3
    before = {name: value.clone() for name, value in model.state_dict().items()}
    assert causality(model, batch, next_token).report().data["causality"] == "broken"
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


@pytest.mark.parametrize(("ahead", "asked"), [(1, True), (0, False)])
def test_numbers_are_asked_for_the_next_ones_or_not(ahead: int, asked: bool) -> None:
    torch.manual_seed(0)
    net = nn.GRU(3, 3, bidirectional=False, batch_first=True)

    class Both(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.there, self.back = net, nn.GRU(3, 3, batch_first=True)

        def forward(self, x: Tensor) -> Tensor:
            return self.there(x)[0] + self.back(x.flip(1))[0].flip(1)

    def loss(model: nn.Module, batch: Tensor) -> Tensor:
        out = model(batch)
        return functional.mse_loss(out[:, : out.shape[1] - ahead], batch[:, ahead:] if ahead else batch.roll(3, 2).sin())

    assert causality(Both(), torch.randn(4, 17, 3), loss).asked is asked


def test_what_a_loss_asks_for_that_shows_no_targets_is_not_known() -> None:
    """Contrastive losses and the like: nothing is said against the model, and nothing for it."""
    report = causality(_Encoder2(), rows(), lambda model, batch: model(batch).square().mean()).report()
    assert not report.found
    assert report.data == {"bidirectional": "unknown"}
    assert report.open
    assert any("not known" in str(note) for note in report.notes)


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


def test_the_public_name() -> None:
    assert sismo.causality is causality


class _Layers(nn.Module):
    """Encoder layers under a mask that the model makes in single precision; the last of them may be called without it."""

    def __init__(self, *, leaks: bool) -> None:
        super().__init__()
        self.embed = nn.Embedding(50, 32)
        self.layers = nn.ModuleList(nn.TransformerEncoderLayer(32, 4, 64, 0.0, batch_first=True, norm_first=True) for _ in range(2))
        self.head = nn.Linear(32, 50)
        self.leaks = leaks

    def forward(self, ids: Tensor) -> Tensor:
        x, mask = self.embed(ids), nn.Transformer.generate_square_subsequent_mask(ids.shape[1])
        for at, layer in enumerate(self.layers):
            x = layer(x, src_mask=None if self.leaks and at == 1 else mask)
        return self.head(x)


@pytest.mark.parametrize("seed", range(3))
def test_a_layer_that_is_called_without_its_mask_is_named_and_not_the_one_before_it(seed: int) -> None:
    torch.manual_seed(seed)
    ids = torch.randint(0, 50, (8, 16))
    assert causality(_Layers(leaks=False), ids).causal
    assert causality(_Layers(leaks=True), ids).module == "layers.1.self_attn"


class _Memory(Model):
    """Carries over from one call to the next what it saw, in a list, in a tensor in place, or in a new one each time."""

    def __init__(self, mixer: nn.Module, way: str) -> None:
        super().__init__(mixer)
        self.way, self.kept = way, list[Tensor]()
        self.total = torch.zeros(1)

    def forward(self, tokens: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        made = super().forward(tokens) + sum(self.kept) + self.total
        if self.way == "list":
            self.kept.append(made.detach().mean(1, keepdim=True))
        elif self.way == "in place":
            self.total += 1.0
        else:
            self.total = made.detach().mean()
        return made


@pytest.mark.parametrize("way", ["list", "in place", "new"])
def test_a_model_with_a_memory_begins_each_run_with_the_same_one(way: str) -> None:
    for mask, sound in ((tril, True), (ones, False)):
        model = _Memory(Attention(mask), way)
        assert causality(model, tokens(), next_token).causal is sound
        assert (model.kept, float(model.total)) == ([], 0.0)


class _AlwaysDrops(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return functional.dropout(x, 0.2)


def test_what_is_drawn_at_random_in_evaluation_hides_no_leak() -> None:
    for mask, sound in ((tril, True), (ones, False)):
        assert causality(Model(nn.Sequential(_AlwaysDrops(), Attention(mask))), tokens()).causal is sound


class _TimeFirst(nn.Module):
    def __init__(self, *, both: bool, flat: bool) -> None:
        super().__init__()
        self.embed, self.rnn, self.flat = nn.Embedding(TOKENS, 16), nn.GRU(16, 16, bidirectional=both), flat
        self.head = nn.Linear(32 if both else 16, TOKENS)

    def forward(self, tokens: Tensor) -> Tensor:
        made = self.head(self.rnn(self.embed(tokens))[0])
        return made.flatten(0, 1) if self.flat else made


@pytest.mark.parametrize("flat", [False, True])
def test_time_may_be_the_first_axis(flat: bool) -> None:
    def loss(model: nn.Module, batch: Tensor) -> Tensor:
        made = model(batch[:-1])
        return functional.cross_entropy(made if flat else made.flatten(0, 1), batch[1:].flatten())

    for both, said in ((False, "sound"), (True, "broken")):
        assert causality(_TimeFirst(both=both, flat=flat), rows().T.contiguous(), loss).report().data["causality"] == said


class _Flat(nn.Module):
    """Gives its logits as rows, as many examples one after the other."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, tokens: Tensor) -> Tensor:
        return self.inner(tokens).flatten(0, 1)


def test_logits_in_rows_have_positions_too() -> None:
    def loss(model: nn.Module, batch: Tensor) -> Tensor:
        return functional.cross_entropy(model(batch[:, :-1]), batch[:, 1:].flatten())

    for mask, said in ((tril, "sound"), (ones, "broken")):
        assert causality(_Flat(Model(Attention(mask))), tokens(), loss).report().data["causality"] == said


class _Translator(nn.Module):
    """An encoder and a decoder, which may be called without its mask."""

    def __init__(self, *, masked: bool) -> None:
        super().__init__()
        self.embed, self.head, self.masked = nn.Embedding(TOKENS, 16), nn.Linear(16, TOKENS), masked
        self.inner = nn.Transformer(16, 2, 1, 1, 32, batch_first=True, dropout=0.0)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        mask = nn.Transformer.generate_square_subsequent_mask(target.shape[1]) if self.masked else None
        return self.head(self.inner(self.embed(source), self.embed(target), tgt_mask=mask))


@pytest.mark.parametrize("length", [9, 17, 18])
def test_of_an_encoder_and_a_decoder_the_decoder_is_judged_whatever_their_lengths(length: int) -> None:
    def loss(model: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
        return functional.cross_entropy(model(batch[0], batch[1][:, :-1]).flatten(0, 1), batch[1][:, 1:].flatten())

    for masked, said in ((True, "sound"), (False, "broken")):
        batch = (rows()[:, :length], rows().flip(1))
        assert causality(_Translator(masked=masked), batch, loss).report().data["causality"] == said


@pytest.mark.parametrize(("beyond", "order"), [(True, "prefix"), (False, "leaks")])
def test_a_prefix_that_is_asked_for_its_own_next_tokens_shows_them(beyond: bool, order: str) -> None:
    start = 5 if beyond else 0

    def loss(model: nn.Module, batch: Tensor) -> Tensor:
        return functional.cross_entropy(model(batch)[:, start:-1].flatten(0, 1), batch[:, start + 1 :].flatten())

    assert causality(Model(Attention(prefix(5))), tokens(), loss).order == order
