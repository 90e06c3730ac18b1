"""Weights that begin at zero on purpose hide what lies behind them, and are no fault; a model that is zero throughout is one."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from probes.sequences import VOCABULARY, WIDTH, Attention, Model, ones, tokens, tril
from torch import Tensor, nn
from torch.nn import functional

from sismo.probes.causality import causality
from sismo.probes.dormant import awake
from sismo.probes.flow import flow
from sismo.probes.init import initialisation


class Gate(nn.Module):
    """A residual branch behind a gate that begins at zero."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner, self.gate = inner, nn.Parameter(torch.zeros(()))

    def forward(self, x: Tensor) -> Tensor:
        return x + self.gate * self.inner(x)


class Adapter(nn.Module):
    """A layer with a low-rank adapter, the second half of which begins at zero."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.down, self.up = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, 2, bias=False), nn.Linear(2, WIDTH, bias=False)
        self.layer.requires_grad_(False)
        nn.init.zeros_(self.up.weight)

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x) + self.up(self.down(x))


def zero_head(mixer: nn.Module) -> nn.Module:
    model = Model(mixer)
    nn.init.zeros_(model.head.weight)
    nn.init.zeros_(model.head.bias)
    return model


SLEEPING = {
    "zero head": lambda mask: zero_head(Attention(mask)),
    "zero gate": lambda mask: Model(Gate(Attention(mask))),
    "both": lambda mask: zero_head(Gate(Attention(mask))),
    "adapter": lambda mask: Model(nn.Sequential(Attention(mask), Adapter())),
}


def next_token(model: nn.Module, batch: Tensor) -> Tensor:
    return functional.cross_entropy(model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())


@pytest.mark.parametrize("make", [pytest.param(make, id=name) for name, make in SLEEPING.items()])
def test_a_leak_behind_zeros_is_seen_and_a_sound_model_stays_sound(make: Any) -> None:
    torch.manual_seed(0)
    assert causality(make(ones), tokens(), next_token).report().data.get("causality") == "broken"
    assert causality(make(tril), tokens(), next_token).report().data == {"causality": "sound"}


@pytest.mark.parametrize("make", [pytest.param(make, id=name) for name, make in SLEEPING.items()])
def test_what_gets_its_gradient_from_the_second_step_on_is_not_cut_off(make: Any) -> None:
    torch.manual_seed(0)
    model = make(tril)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    optimizer = torch.optim.AdamW([one for one in model.parameters() if one.requires_grad])
    found = flow(model, tokens(), next_token, optimizer)
    assert not found.cut_off
    assert not found.report().found
    assert "later" in {note.code for note in found.report().notes}
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


def test_a_zero_that_no_optimizer_trains_cuts_off_for_good() -> None:
    model = zero_head(Attention(tril))
    optimizer = torch.optim.AdamW([one for name, one in model.named_parameters() if "head" not in name])
    assert "embed.weight" in flow(model, tokens(), next_token, optimizer).cut_off


def test_a_model_of_zeros_is_cut_off() -> None:
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 3))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    awake(model)
    assert not any(bool(parameter.any()) for parameter in model.parameters())
    batch = (torch.randn(7, 4), torch.arange(7) % 3)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    found = flow(model, batch, lambda model, batch: functional.cross_entropy(model(batch[0]), batch[1]), optimizer)
    assert set(found.cut_off) == {name for name, _ in model.named_parameters()} - {"4.bias"}


@pytest.mark.parametrize("make", [pytest.param(make, id=name) for name, make in SLEEPING.items()])
def test_a_layer_of_zeros_is_no_bad_initialisation(make: Any) -> None:
    torch.manual_seed(0)
    report = initialisation(make(tril), tokens(), next_token).report()
    assert (report.found, report.data["init"], report.data.get("gradient")) == (False, "sound", "reaches")


class Residual(nn.Module):
    """A GPT of some depth and width, initialised as GPT-2 is."""

    def __init__(self, width: int, depth: int, std: float) -> None:
        super().__init__()
        self.embed, self.head = nn.Embedding(VOCABULARY, width), nn.Linear(width, VOCABULARY, bias=False)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(depth + 1))
        self.up = nn.ModuleList(nn.Linear(width, 4 * width) for _ in range(depth))
        self.down = nn.ModuleList(nn.Linear(4 * width, width) for _ in range(depth))
        for name, parameter in self.named_parameters():
            if parameter.ndim > 1:
                nn.init.normal_(parameter, 0.0, std / (2 * depth) ** 0.5 if name.startswith("down") else std)
            elif name.endswith("bias"):
                nn.init.zeros_(parameter)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embed(tokens)
        for norm, up, down in zip(self.norms, self.up, self.down, strict=False):
            x = x + down(functional.gelu(up(norm(x))))
        return self.head(self.norms[-1](x))


@pytest.mark.parametrize(("width", "depth"), [(32, 2), (32, 12), (128, 12), (256, 4)])
@pytest.mark.parametrize(("times", "said"), [(1.0, "sound"), (0.05, "small"), (50.0, "large")])
def test_small_on_purpose_is_told_from_too_small(width: int, depth: int, times: float, said: str) -> None:
    torch.manual_seed(0)
    assert initialisation(Residual(width, depth, 0.02 * times), tokens(), next_token).report().data["init"] == said


def plain(init: Any, depth: int = 6) -> nn.Module:
    layers: list[nn.Module] = [nn.Linear(20, 48), nn.ReLU()]
    for _ in range(depth):
        layers += [nn.Linear(48, 48), nn.ReLU()]
    model = nn.Sequential(*layers, nn.Linear(48, 5))
    for parameter in model.parameters():
        if parameter.ndim > 1:
            init(parameter)
    return model


def _small_head(parameter: Tensor) -> None:
    nn.init.orthogonal_(parameter, 0.01 if parameter.shape[0] == 5 else 1.0)


@pytest.mark.parametrize(
    ("init", "said"),
    [
        (nn.init.kaiming_normal_, "sound"),
        (nn.init.xavier_uniform_, "sound"),
        (nn.init.orthogonal_, "sound"),
        (_small_head, "sound"),
        (lambda parameter: nn.init.normal_(parameter, 0.0, 0.005), "small"),
        (lambda parameter: nn.init.normal_(parameter, 0.0, 3.0), "large"),
    ],
)
@pytest.mark.parametrize("size", [1.0, 100.0])
def test_the_usual_initialisations_are_sound_whatever_the_size_of_the_input(init: Any, said: str, size: float) -> None:
    torch.manual_seed(0)
    batch = (size * torch.randn(16, 20), torch.arange(16) % 5)
    found = initialisation(plain(init), batch, lambda model, batch: functional.cross_entropy(model(batch[0]), batch[1]))
    assert found.report().data["init"] == said


def test_a_side_branch_with_a_small_gradient_is_no_gradient_that_dies() -> None:
    class Branch(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.side, self.main, self.head = nn.Linear(2, 8), nn.ModuleList(nn.Linear(8, 8) for _ in range(4)), nn.Linear(8, 3)

        def forward(self, x: Tensor) -> Tensor:
            shift = 1e-4 * self.side(x[:, :2])
            for layer in self.main:
                x = functional.relu(layer(x)) + shift
            return self.head(x)

    torch.manual_seed(0)
    batch = (torch.randn(16, 8), torch.arange(16) % 3)
    found = initialisation(Branch(), batch, lambda model, batch: functional.cross_entropy(model(batch[0]), batch[1]))
    assert found.layers[0].name == "side"
    assert found.layers[0].gradient < 1e-3 * found.layers[-1].gradient
    assert not found.dies
