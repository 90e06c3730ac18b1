"""Initialisation, gradient flow and batch: each fault is seen, and a sound model has none."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
import torch
from probes.models import available, loss_fn, made
from recorder import loops
from torch import Tensor, nn

from sismo.errors import UsageError
from sismo.probes.batch import Carried, Example, carried
from sismo.probes.flow import flow
from sismo.probes.init import initialisation

# Initialisation


@pytest.mark.parametrize("name", ["mini-gpt", "conv-net", "torch-encoder"])
def test_a_sound_initialisation(name: str) -> None:
    model, batch = made(name)
    found = initialisation(model, batch, loss_fn(name))
    assert found.first_off is None
    assert found.report().data["init"] == "sound"
    assert len(found.layers) >= 4


@pytest.mark.parametrize(
    ("name", "factor", "said"), [("mini-gpt", 100.0, "large"), ("mini-gpt", 0.01, "small"), ("conv-net", 100.0, "large")]
)
def test_weights_a_hundred_times_too_large_or_too_small(name: str, factor: float, said: str) -> None:
    model, batch = made(name)
    with torch.no_grad():
        for module in model.modules():
            if isinstance(module, (nn.Linear, nn.Embedding, nn.Conv2d)):
                module.weight.mul_(factor)
    before = copy.deepcopy(model.state_dict())
    found = initialisation(model, batch, loss_fn(name))
    assert found.report().data["init"] == said
    judged = (nn.Linear, nn.Conv2d, nn.Embedding) if said == "large" else (nn.Linear, nn.Conv2d)
    assert found.first_off == next(layer for layer in found.layers if isinstance(model.get_submodule(layer.name), judged))
    assert 0.5 < found.first_off.activation_ratio / factor < 20
    assert all(torch.equal(before[key], value) for key, value in model.state_dict().items())


@pytest.mark.parametrize("frozen", [False, True])
def test_a_gradient_dies_where_weights_are_next_to_nothing_and_not_where_they_are_frozen(frozen: bool) -> None:
    layers = [nn.Linear(4, 4) for _ in range(4)]
    for layer in layers:
        nn.init.normal_(layer.weight, std=1e-3)
    layers[0].requires_grad_(not frozen)
    model = nn.Sequential(*layers)
    found = initialisation(model, torch.randn(8, 4), lambda model, batch: (model(batch) - 1).square().mean())
    assert found.dies is not frozen


def test_an_embedding_as_gpt_starts_it_is_not_too_small() -> None:
    model, _ = loops.build()
    with torch.no_grad():
        model.wte.weight.normal_(0.0, 0.02)
    found = initialisation(model, loops.batches(1)[0], loops.loss_of)
    assert found.first_off is None
    with torch.no_grad():
        model.wte.weight.normal_(0.0, 20.0)
    assert initialisation(model, loops.batches(1)[0], loops.loss_of).first_off is not None


def test_what_is_nan_has_no_size() -> None:
    model, _ = loops.build()
    with torch.no_grad():
        model.wte.weight[:] = float("nan")
    with pytest.raises(UsageError, match="sismo probe nan"):
        initialisation(model, loops.batches(1)[0], loops.loss_of)


def test_layers_that_cannot_initialise_themselves_are_not_judged() -> None:
    class Own(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.full((4, 3), 1e3))

        def forward(self, x: Tensor) -> Tensor:
            return x @ self.weight

    found = initialisation(nn.Sequential(Own()), torch.randn(2, 4), lambda model, batch: model(batch).square().mean())
    assert found.first_off is None
    assert "init" not in found.report().data


# Gradient flow


def loop(model: nn.Module, batch: Any, optimizer: torch.optim.Optimizer) -> None:
    loops.loss_of(model, batch).backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()


def piles(model: nn.Module, batch: Any, optimizer: torch.optim.Optimizer) -> None:
    loops.loss_of(model, batch).backward()
    optimizer.step()


def piles_and_clips(model: nn.Module, batch: Any, optimizer: torch.optim.Optimizer) -> None:
    loops.loss_of(model, batch).backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1e6)
    optimizer.step()


def clips_scaled(model: nn.Module, batch: Any, optimizer: torch.optim.Optimizer) -> None:
    (loops.loss_of(model, batch) * 65536.0).backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    for parameter in model.parameters():
        assert parameter.grad is not None
        parameter.grad /= 65536.0
    optimizer.step()
    optimizer.zero_grad()


def test_a_sound_flow_and_a_sound_loop() -> None:
    model, optimizer = loops.build()
    before = loops.digest(model, optimizer, [])
    found = flow(model, loops.batches(1)[0], loops.loss_of, optimizer, loop)
    assert not found.report().found
    assert (found.piles_up, found.clips_scaled) == (False, False)
    assert loops.digest(model, optimizer, []) == before


@pytest.mark.parametrize(
    ("way", "piled", "scaled"), [(piles, True, False), (piles_and_clips, True, False), (clips_scaled, False, True), (loop, False, False)]
)
def test_what_a_loop_does_wrong(way: Callable[..., None], piled: bool, scaled: bool) -> None:
    model, optimizer = loops.build(dropout=0.0)
    found = flow(model, loops.batches(1)[0], loops.loss_of, optimizer, way)
    assert (found.piles_up, found.clips_scaled) == (piled, scaled)


def test_a_lost_loss_is_no_gradient_that_is_cut_off() -> None:
    model, optimizer = loops.build()
    masked = torch.full((4, 17), -100)

    def loss(model: nn.Module, batch: Tensor) -> Tensor:
        return nn.functional.cross_entropy(model(batch[:, :-1]).flatten(0, 1), masked[:, 1:].flatten())

    with pytest.raises(UsageError, match="the loss of this batch is not finite"):
        flow(model, loops.batches(1)[0], loss, optimizer)


def test_a_part_that_is_cut_off() -> None:
    model, optimizer = loops.build()
    model.blocks[0].attn.register_forward_hook(lambda module, inputs, output: output.detach())
    found = flow(model, loops.batches(1)[0], loops.loss_of, optimizer)
    assert set(found.cut_off) >= {"blocks.0.attn.qkv.weight", "blocks.0.attn.out.weight"}
    assert found.report().data["flow"] == "cut-off"


def test_a_parameter_in_no_optimizer() -> None:
    model, _ = loops.build()
    optimizer = torch.optim.AdamW([parameter for name, parameter in model.named_parameters() if "head" not in name])
    found = flow(model, loops.batches(1)[0], loops.loss_of, optimizer)
    assert found.not_held == ("head.weight",)


def test_a_step_that_changes_nothing_and_a_part_that_is_frozen_on_purpose() -> None:
    model, _ = loops.build()
    model.wte.requires_grad_(False)
    still = torch.optim.SGD(
        [{"params": model.head.parameters(), "lr": 0.0}, {"params": [*model.blocks.parameters(), *model.ln_f.parameters()]}], 0.1
    )
    found = flow(model, loops.batches(1)[0], loops.loss_of, still)
    assert found.unchanged == ("head.weight",)
    assert not found.cut_off
    assert not found.not_held


# Batch


def test_the_example_that_carries_a_batch() -> None:
    model, batch = made("conv-net")
    batch["images"][2] *= 300
    found = carried(model, batch, loss_fn("conv-net"))
    assert [one.place for one in found.outliers] == [2]
    assert found.report().data["examples"] == [2]


@pytest.mark.parametrize("spread", [0.2, 1.0, 1.8])
def test_examples_that_scatter_by_factors_carry_nothing_until_one_leaves_them_all_behind(spread: float) -> None:
    noise = torch.randn(20, 64, generator=torch.Generator().manual_seed(3)).mul(spread).exp().tolist()
    even = [Carried(tuple(Example(at, loss, loss, None) for at, loss in enumerate(batch))) for batch in noise]
    assert sum(bool(one.outliers) for one in even) <= 1
    for batch in noise:
        batch[7] = 1e5
        assert [one.place for one in Carried(tuple(Example(at, loss, 1.0, None) for at, loss in enumerate(batch))).outliers][:1] == [7]


@cache
def taught(steps: int = 400) -> tuple[nn.Module, Tensor]:
    """A classifier of four classes that has learnt its task, and the matrix that gives the class."""
    torch.manual_seed(0)
    rule, model = torch.randn(8, 4), nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 4))
    optimizer = torch.optim.Adam(model.parameters(), 5e-3)
    for _ in range(steps):
        loss = exam(model, asked(rule, 64))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model, rule


def asked(rule: Tensor, count: int) -> dict[str, Tensor]:
    inputs = torch.randn(count, 8)
    return {"x": inputs, "labels": (inputs @ rule).argmax(-1)}


def exam(model: nn.Module, batch: dict[str, Tensor]) -> Tensor:
    return nn.functional.cross_entropy(model(batch["x"]), batch["labels"])


def test_what_no_optimizer_holds_piles_up_nothing_that_a_step_takes() -> None:
    """Its gradient is cleared by no zero_grad of an optimizer; that it is in none is what is wrong."""
    model, _ = loops.build(dropout=0.0)
    some = torch.optim.AdamW([value for name, value in model.named_parameters() if not name.startswith("head")])
    found = flow(model, loops.batches(1)[0], loops.loss_of, some, loop)
    assert found.piles_up is False
    assert found.not_held == ("head.weight",)


def test_piled_up_and_scaled_gradients_are_explained_each_by_its_own_numbers() -> None:
    model, optimizer = loops.build(dropout=0.0)
    batch = loops.batches(1)[0]
    said = [" ".join(str(note) for note in (found.verdict, *found.notes))
            for way in (piles, clips_scaled) for found in [flow(model, batch, loops.loss_of, optimizer, way).report()]]  # fmt: skip
    assert "2 times the gradient of the first" in said[0]
    assert "zero_grad" in said[0]
    assert "unscale" not in said[0]
    assert "divided by 65536, the loss scale" in said[1]
    assert "unscale_" in said[1]
    assert "zero_grad" not in said[1]


def test_a_lost_gradient_has_no_shares_in_percent() -> None:
    model, _ = loops.build(dropout=0.0)
    with torch.no_grad():
        model.head.weight[3, 3] = float("nan")
    report = carried(model, loops.batches(1)[0], loops.loss_of).report()
    assert not any("nan%" in str(note) for note in report.notes)
    model.head.weight.data[3, 3] = 0.0
    infinite = carried(model, loops.batches(1)[0], lambda model, batch: (loops.loss_of(model, batch) * 0.0).sqrt()).report()
    assert not any("nan%" in str(note) for note in infinite.notes)


def test_one_bad_example_among_easy_ones_carries_the_batch() -> None:
    model, rule = taught()
    torch.manual_seed(1)
    found = 0
    for _ in range(20):
        batch = asked(rule, 16)
        batch["labels"][5] = model(batch["x"][5]).argmin()
        found += [one.place for one in carried(model, batch, exam).outliers] == [5]
    assert found >= 18


def test_easy_examples_of_which_some_are_less_easy_carry_nothing() -> None:
    """Losses of what is known by heart are 0, or lie orders of size apart."""
    model, rule = taught()
    torch.manual_seed(2)
    assert sum(bool(carried(model, asked(rule, 16), exam).outliers) for _ in range(30)) <= 2


def test_several_bad_examples_are_found_together() -> None:
    model, rule = taught()
    torch.manual_seed(3)
    batch = asked(rule, 16)
    for place in (2, 9):
        batch["labels"][place] = model(batch["x"][place]).argmin()
    assert {one.place for one in carried(model, batch, exam).outliers} == {2, 9}


def test_it_says_how_much_they_hold() -> None:
    model, rule = taught()
    torch.manual_seed(1)
    batch = asked(rule, 16)
    batch["labels"][5] = model(batch["x"][5]).argmin()
    said = [str(note) for note in carried(model, batch, exam).report().notes]
    assert any("of the loss of the batch is in there" in note for note in said)


def test_a_text_among_others_is_told_by_its_tokens() -> None:
    model, optimizer = loops.build(dropout=0.0)
    known = torch.arange(loops.LENGTH + 1).repeat(16, 1)
    for _ in range(150):
        loss = loops.loss_of(model, known)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    batch = known.clone()
    batch[11] = torch.arange(90, 90 - loops.LENGTH - 1, -1)
    found = carried(model, batch, loops.loss_of)
    assert [one.place for one in found.outliers] == [11]
    assert any(str(note).startswith("Example 11 begins with the tokens 90 89 88") for note in found.report().notes)


def test_an_untrained_model_has_no_hard_examples() -> None:
    model, _ = loops.build(dropout=0.0)
    assert not carried(model, loops.batches(1, size=16)[0], loops.loss_of).outliers


def test_a_batch_that_is_lost_as_a_whole_is_carried_by_no_example() -> None:
    lost = [Example(at, float("nan"), float("nan"), None) for at in range(8)]
    assert not Carried(tuple(lost)).outliers
    assert len(Carried((*lost[:3], *(Example(at, 1.0, 1.0, None) for at in range(3, 8)))).outliers) == 3


def test_losses_under_zero_have_a_spread_too() -> None:
    losses = [-2.0, -1.0, 0.5, -1.5, 40.0, 0.0]
    found = Carried(tuple(Example(at, loss, 1.0, None) for at, loss in enumerate(losses)))
    assert [one.place for one in found.outliers] == [4]


def test_an_example_that_is_not_finite_carries_it() -> None:
    model, batch = made("conv-net")
    batch["images"][1, 0, 0, 0] = float("nan")
    assert [one.place for one in carried(model, batch, loss_fn("conv-net")).outliers] == [1]


def test_an_example_without_labels_carries_nothing_in_a_batch_that_has_some() -> None:
    model, _ = loops.build(dropout=0.0)
    rows = loops.batches(1, size=8)[0]

    def loss(model: nn.Module, batch: dict[str, Tensor]) -> Tensor:
        return nn.functional.cross_entropy(model(batch["rows"][:, :-1]).flatten(0, 1), batch["labels"].flatten())

    labels = rows[:, 1:].clone()
    labels[3] = -100
    report = carried(model, {"rows": rows, "labels": labels}, loss).report()
    assert (report.found, report.data["batch"]) == (False, "even")
    assert "1 example has no loss: no label of 3 counts." in map(str, report.notes)
    report = carried(model, {"rows": rows, "labels": torch.full_like(labels, -100)}, loss).report()
    assert (report.found, report.open, "batch" in report.data) == (False, True, False)
    assert "No example has a finite loss" in str(report.verdict)


def test_a_loss_that_compares_examples_says_nothing_of_one() -> None:
    torch.manual_seed(0)
    model = nn.Linear(6, 4)

    def contrastive(model: nn.Module, batch: dict[str, Tensor]) -> Tensor:
        one, other = (nn.functional.normalize(model(batch[side]), dim=1) for side in ("one", "other"))
        return nn.functional.cross_entropy(5 * one @ other.T, torch.arange(len(one)))

    inputs = torch.randn(8, 6)
    report = carried(model, {"one": inputs, "other": inputs + 0.1}, contrastive).report()
    assert (report.found, report.open, "batch" in report.data) == (False, True, False)


@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize("penalty", [0.0, 0.3])
def test_means_sums_and_penalties_are_of_single_examples(reduction: str, penalty: float) -> None:
    model, rule = taught()

    def loss(model: nn.Module, batch: dict[str, Tensor]) -> Tensor:
        return nn.functional.cross_entropy(model(batch["x"]), batch["labels"], reduction=reduction) + penalty

    torch.manual_seed(1)
    assert carried(model, asked(rule, 16), loss).report().data["batch"] == "even"


def test_the_batch_that_comes_again_is_what_the_answer_begins_with_and_a_single_example_is_a_note() -> None:
    model, _ = loops.build(dropout=0.0)
    batch, other = loops.batches(2, size=8)
    report = carried(model, batch, loops.loss_of, [other, batch]).report()
    assert report.found
    assert str(report.verdict).startswith("This batch was served a few steps ago")
    other[0] = batch[0]
    report = carried(model, batch, loops.loss_of, [other]).report()
    assert not report.found
    assert "1 of 8 examples was in a recent batch." in map(str, report.notes)


def test_what_an_example_draws_is_what_the_others_draw() -> None:
    def noisy(model: nn.Module, batch: Tensor) -> Tensor:
        return (model(batch) * torch.randn(len(batch), 1).mul(3).exp()).square().mean()

    torch.manual_seed(0)
    assert not carried(nn.Linear(4, 4), torch.randn(16, 4).sign(), noisy).outliers


def test_tokens_ngrams_and_duplicates() -> None:
    model, optimizer = loops.build()
    loops.train(model, optimizer, 2)
    batch = loops.batches(1)[0]
    batch[1] = torch.tensor([3, 4, 5] * 6)[: batch.shape[1]]
    recent = loops.batches(3, seed=9)
    recent[1][2] = batch[0]
    before = loops.digest(model, optimizer, [])
    found = carried(model, batch, loops.loss_of, recent)
    assert [(one.place, one.seen_before) for one in found.duplicates] == [(0, 1)]
    assert found.report().data["duplicates"] == "no"  # one example of several, as where one epoch ends and the next begins
    assert carried(model, recent[0], loops.loss_of, recent).report().data["duplicates"] == "yes"
    assert found.repeated is not None
    assert set(found.repeated[0]) == {3, 4, 5}
    assert len(found.tokens) == 10
    assert loops.digest(model, optimizer, []) == before


def test_an_even_batch() -> None:
    model, _ = loops.build()
    report = carried(model, loops.batches(1)[0], loops.loss_of).report()
    assert not report.found
    assert report.data["batch"] == "even"


def test_a_batch_without_examples_is_refused() -> None:
    model, _ = loops.build()
    with pytest.raises(UsageError, match="no example"):
        carried(model, torch.zeros(0, 4, dtype=torch.long), loops.loss_of)


@pytest.mark.skipif(not available("transformers"), reason="transformers is not installed")
def test_a_model_of_transformers() -> None:
    model, batch = made("transformers")
    assert flow(model, batch, loss_fn("transformers"), torch.optim.AdamW(model.parameters())).report().data["flow"] == "sound"
