"""What a step on one batch does not show is not said of training: layers left out, a rate of zero, rounding, losses that draw."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from sismo.probes.flow import Flow, flow
from sismo.probes.steady import Draws

Batch = dict[str, Tensor]


def batch(count: int = 12) -> Batch:
    generator = torch.Generator().manual_seed(0)
    return {"x": torch.randn(count, 8, generator=generator), "y": torch.arange(count) % 3}


def loss(model: nn.Module, batch: Batch) -> Tensor:
    return functional.cross_entropy(model(batch["x"]), batch["y"])


def net(*between: nn.Module) -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), *between, nn.Linear(16, 3))


def tried(model: nn.Module, loop: Any = None, loss_fn: Any = loss, optimizer: Any = None, examples: int = 12) -> Flow:
    return flow(model, batch(examples), loss_fn, optimizer or torch.optim.AdamW(model.parameters(), 1e-3), loop)


class Dropped(nn.Module):
    """Layers, each of which is left out in half of the steps; ``last`` is left out always."""

    def __init__(self, *, forgets: bool) -> None:
        super().__init__()
        self.layers, self.forgets = nn.ModuleList(nn.Linear(16, 16) for _ in range(5)), forgets

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers[: -1 if self.forgets else None]:
            if not self.training or float(torch.rand(())) > 0.5:
                x = x + layer(x)
        return x


class Experts(nn.Module):
    """A router to the best of several experts; one of them may never be chosen."""

    def __init__(self, never: int | None = None) -> None:
        super().__init__()
        self.gate, self.experts, self.never = nn.Linear(16, 6), nn.ModuleList(nn.Linear(16, 16) for _ in range(6)), never

    def forward(self, x: Tensor) -> Tensor:
        scores = self.gate(x)
        if self.never is not None:
            scores = scores.index_fill(1, torch.tensor(self.never), -1e9)
        weight, place = scores.softmax(-1).max(-1)
        made = torch.zeros_like(x)
        for number, expert in enumerate(self.experts):
            chosen = (place == number).nonzero()[:, 0]
            made = made.index_add(0, chosen, expert(x[chosen]) * weight[chosen, None])
        return x + made


@pytest.mark.parametrize("seed", range(4))
def test_layers_that_a_draw_leaves_out_are_not_cut_off_and_one_that_is_forgotten_is(seed: int) -> None:
    for forgets in (False, True):
        model = net(Dropped(forgets=forgets))
        torch.manual_seed(seed)
        found = tried(model)
        assert found.cut_off == (("2.layers.4.weight", "2.layers.4.bias") if forgets else ())


def test_experts_without_a_token_are_not_cut_off_and_one_that_is_never_chosen_is() -> None:
    found = tried(net(Experts()), examples=2)
    report = found.report()
    assert found.left_out
    assert not found.cut_off
    assert (report.found, report.open, "flow" in report.data) == (False, True, False)
    assert tried(net(Experts(never=3))).cut_off == ("2.experts.3.weight", "2.experts.3.bias")


def test_units_that_are_dead_are_cut_off() -> None:
    model = net()
    with torch.no_grad():
        model[0].bias.fill_(-1e3)
    assert set(tried(model).cut_off) >= {"0.weight", "0.bias"}


def test_a_rate_of_zero_everywhere_leaves_open_what_a_step_changes() -> None:
    model = net()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: step / 100)
    report = tried(model, optimizer=optimizer).report()
    assert not report.found
    assert "update" not in report.data
    assert report.verdict.code == "flow-rests"


@pytest.mark.parametrize(("rate", "found"), [(1e-3, False), (1e-12, True)])
def test_an_update_under_rounding_counts_where_much_of_the_gradient_is_lost(rate: float, found: bool) -> None:
    model = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 3))
    report = tried(model, optimizer=torch.optim.SGD(model.parameters(), rate)).report()
    assert report.data["update"] == ("nothing" if found else "changes")


class Skips(torch.optim.SGD):
    """An optimizer that never acts on its second parameter."""

    def step(self, closure: Any = None) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        self.param_groups[0]["params"][1].grad = None
        super().step()


def test_a_parameter_that_the_optimizer_passes_over_is_unchanged_however_small_its_gradient() -> None:
    model = net()
    assert tried(model, optimizer=Skips(model.parameters(), 0.1)).unchanged == ("0.bias",)


class Always(nn.Module):
    """Drops numbers, or adds noise, whatever the mode."""

    def __init__(self, *, drops: bool) -> None:
        super().__init__()
        self.drops = drops

    def forward(self, x: Tensor) -> Tensor:
        return functional.dropout(x, 0.3) if self.drops else x + 0.1 * torch.randn_like(x)


class Remembers(nn.Module):
    """Carries something over from the call before."""

    last: Tensor | None = None

    def forward(self, x: Tensor) -> Tensor:
        made = x if self.last is None else x + self.last
        self.last = x.detach().mean(0)
        return made


def noisy(model: nn.Module, batch: Batch) -> Tensor:
    return loss(model, {**batch, "x": batch["x"] + torch.randn_like(batch["x"])})


@pytest.mark.parametrize(
    ("between", "loss_fn", "draws", "where"),
    [
        ((nn.Dropout(0.3),), loss, Draws.NOTHING, ""),
        ((Remembers(),), loss, Draws.NOTHING, ""),
        ((Always(drops=True),), loss, Draws.DROPOUT, "2"),
        ((Always(drops=False),), loss, Draws.MODEL, "2"),
        ((), noisy, Draws.LOSS, ""),
        ((nn.Dropout(0.3),), noisy, Draws.LOSS, ""),
    ],
)
def test_a_loss_that_draws_is_told_from_a_model_that_drops_in_evaluation(between: Any, loss_fn: Any, draws: Draws, where: str) -> None:
    found = tried(net(*between), loss_fn=loss_fn)
    assert found.steady == (draws, where)
    said = found.report().data.get("eval_twice")
    assert said == {Draws.NOTHING: "agrees", Draws.DROPOUT: "differs"}.get(draws)
    assert found.report().found is (draws is Draws.DROPOUT)


def scaling(scale: float, *, unscales: bool, clip: float = 1.0, enabled: bool = True, sums: bool = False) -> Any:
    scaler = torch.amp.GradScaler("cpu", init_scale=scale, enabled=enabled)

    def loop(model: nn.Module, batch: Batch, optimizer: torch.optim.Optimizer) -> None:
        optimizer.zero_grad()
        scaler.scale(loss(model, batch) * (len(batch["y"]) * 100 if sums else 1)).backward()
        if unscales:
            scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), clip)
        scaler.step(optimizer)
        scaler.update()

    return loop


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize(
    ("loop", "found"),
    [
        (scaling(65536.0, unscales=False), True),
        (scaling(1024.0, unscales=False), True),
        (scaling(65536.0, unscales=False, clip=1e9), True),
        (scaling(65536.0, unscales=True), False),
        (scaling(65536.0, unscales=True, clip=1e-3), False),
        (scaling(1.0, unscales=False), False),
        (scaling(65536.0, unscales=False, enabled=False), False),
        (scaling(65536.0, unscales=True, sums=True), None),
    ],
)
def test_a_clip_is_blamed_for_the_scale_only_where_the_scale_is_divided_away_after_it(fused: bool, loop: Any, found: bool | None) -> None:
    model = net()
    seen = tried(model, loop, optimizer=torch.optim.AdamW(model.parameters(), 1e-3, fused=fused))
    assert seen.clips_scaled is found
    assert seen.report().found is (found is True)


def test_gradients_that_are_made_smaller_after_a_clip_are_no_scale() -> None:
    def loop(model: nn.Module, batch: Batch, optimizer: torch.optim.Optimizer) -> None:
        optimizer.zero_grad()
        loss(model, batch).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1e-2)
        for parameter in model.parameters():
            assert parameter.grad is not None
            parameter.grad /= 4
        optimizer.step()

    assert tried(net(), loop).clips_scaled is False


def test_an_optimizer_that_works_out_the_loss_by_itself() -> None:
    model = net()
    before = {name: value.clone() for name, value in model.state_dict().items()}

    def loop(model: nn.Module, batch: Batch, optimizer: Any) -> None:
        def closure() -> Tensor:
            optimizer.zero_grad()
            made = loss(model, batch)
            made.backward()
            return made

        optimizer.step(closure)

    optimizer = torch.optim.LBFGS(model.parameters(), 0.1)
    loop(model, batch(), optimizer)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    history = [len(value) for state in optimizer.state.values() for value in state.values() if isinstance(value, list)]
    assert not tried(model, loop, optimizer=optimizer).report().found
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert history == [len(value) for state in optimizer.state.values() for value in state.values() if isinstance(value, list)]


class _NoRate(torch.optim.Optimizer):
    def __init__(self, parameters: Any) -> None:
        super().__init__(parameters, {"lr": None})

    def step(self, closure: Any = None) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    parameter.data -= 1e-2 * parameter.grad


def test_an_optimizer_that_chooses_its_rate_by_itself() -> None:
    def loop(model: nn.Module, batch: Batch, optimizer: torch.optim.Optimizer) -> None:
        optimizer.zero_grad()
        loss(model, batch).backward()
        optimizer.step()

    model = net()
    report = tried(model, loop, optimizer=_NoRate(model.parameters())).report()
    assert (report.found, report.data["update"]) == (False, "changes")


def test_a_loss_that_takes_gradients_itself() -> None:
    def smooth(model: nn.Module, batch: Batch) -> Tensor:
        x = batch["x"].clone().requires_grad_()
        slope, *_ = torch.autograd.grad(model(x).sum(), x, create_graph=True)
        return loss(model, batch) + slope.square().mean()

    assert not tried(net(), loss_fn=smooth).report().found
