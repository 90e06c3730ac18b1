"""What is recorded of layers, matrices and units is what it says it is, against the same thing worked out plainly."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from recorder.loops import batches, build, loss_of
from recorder.recordings import recorded
from torch import Tensor, nn
from torch.nn import functional

from sismo.recorder import Recorder
from sismo.recorder.panels import activations, spectral, units
from sismo.records.reader import read_run


def test_activation_statistics() -> None:
    values = torch.randn(3, 5, 7)
    values[0, 0, 0] = 1.9e38  # over half of the largest number
    mean, largest, nonfinite, near = (float(one) for one in activations.statistics(values))
    assert mean == pytest.approx(float(values.double().abs().mean()), rel=1e-6)
    assert (largest, nonfinite) == (float(values.max()), 0)
    assert near == pytest.approx(1 / 105)
    half = torch.tensor([1.0, -40000.0, math.inf, math.nan], dtype=torch.float16)
    mean, _, nonfinite, near = (float(one) for one in activations.statistics(half))
    assert math.isnan(mean)
    assert (nonfinite, near) == (2, 0.25)


def test_activations_are_those_of_the_layer(tmp_path: Path) -> None:
    model, optimizer = build(dropout=0.0)
    tokens = batches(1)[0]
    outputs: dict[str, Tensor] = {}
    for name in ("wte", "blocks.0.attn", "blocks.1.mlp", "ln_f", "head"):
        model.get_submodule(name).register_forward_hook(lambda _m, _a, out, name=name: outputs.update({name: out.detach().clone()}))
    with Recorder(model, optimizer, tmp_path) as recorder:
        loss_of(model, tokens).backward()
        optimizer.step()
        recorder.step(1.0)
    run = read_run(tmp_path)
    for name, output in outputs.items():
        assert run.series[f"act_mean_abs/{name}"].values[0] == pytest.approx(float(output.double().abs().mean()), rel=1e-5)
        assert run.series[f"act_max_abs/{name}"].values[0] == float(output.abs().max())


@pytest.mark.parametrize("shape", [(64, 64), (32, 200), (300, 20)])
def test_spectral_norm_follows_the_matrix(shape: tuple[int, int]) -> None:
    generator = torch.Generator().manual_seed(3)
    matrix = torch.randn(shape, generator=generator)
    vector: Tensor | None = None
    for visit in range(12):
        value, vector = spectral.look(matrix, vector, visit)
        exact = float(torch.linalg.matrix_norm(matrix.double(), 2))
        assert float(value) <= exact * (1 + 1e-5)
        assert float(value) == pytest.approx(exact, rel=0.01 if visit >= len(spectral.WARMUP) - 1 else 0.1)
        matrix += 0.01 * torch.randn(shape, generator=generator)


def test_a_spoilt_matrix_does_not_spoil_the_vector() -> None:
    matrix = torch.eye(4)
    _, vector = spectral.look(matrix, None, 0)
    value, kept = spectral.look(matrix * math.nan, vector, 5)
    assert math.isnan(float(value))
    assert torch.equal(kept, vector)


@pytest.mark.parametrize("shape", [(2, 300), (300, 2), (4, 4), (64, 32), (128, 32), (256, 1024), (1024, 256), (16, 27), (512, 512)])
@pytest.mark.parametrize("seed", range(3))
def test_the_spectral_norm_of_a_random_matrix_is_near_at_once_and_right_after_four_looks(shape: tuple[int, int], seed: int) -> None:
    matrix = torch.randn(shape, generator=torch.Generator().manual_seed(seed))
    exact = float(torch.linalg.matrix_norm(matrix.double(), 2))
    vector, last = None, 0.9 * exact
    for visit in range(6):
        value, vector = spectral.look(matrix, vector, visit)
        assert last * (1 - 1e-5) < float(value) < exact * (1 + 1e-5)
        last = float(value)
        if visit == len(spectral.WARMUP) - 1:
            assert last > 0.99 * exact


@pytest.mark.parametrize("before", [1, 2, 4, 6])
def test_a_matrix_that_starts_at_zero_is_measured_when_it_grows(before: int) -> None:
    vector = None
    for visit in range(before):
        value, vector = spectral.look(torch.zeros(8, 4), vector, visit)
        assert float(value) == 0
    grown = torch.outer(torch.arange(8.0), torch.tensor([1.0, 2.0, 0.0, 0.0]))
    value, vector = spectral.look(grown, vector, before)
    assert float(value) == pytest.approx(float(torch.linalg.matrix_norm(grown, 2)), rel=1e-3)


class Units(nn.Module):
    """64 units, 48 of them forced dead; on tokens or on an image, through a module or a function."""

    def __init__(self, kind: str, *, function: bool = False) -> None:
        super().__init__()
        conv = kind == "image"
        self.mlp = nn.Module()
        self.mlp.up = nn.Conv2d(3, 64, 1) if conv else nn.Linear(8, 64)
        self.mlp.act = nn.Identity() if function else nn.GELU() if kind == "gelu" else nn.ReLU()
        self.mlp.down = nn.Conv2d(64, 3, 1) if conv else nn.Linear(64, 8)
        self.function = function
        with torch.no_grad():
            self.mlp.up.bias[:48] = -100.0  # pyright: ignore[reportIndexIssue, reportOptionalSubscript]

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.mlp.act(self.mlp.up(x))  # pyright: ignore[reportCallIssue]
        return self.mlp.down(functional.relu(hidden) if self.function else hidden)  # pyright: ignore[reportCallIssue]


@pytest.mark.parametrize(
    ("kind", "function", "shape"),
    [
        ("tokens", False, (4, 10, 8)),
        ("gelu", False, (4, 10, 8)),
        ("rows", False, (40, 8)),
        ("image", False, (4, 3, 6, 6)),
        ("tokens", True, (4, 10, 8)),
    ],
)
def test_48_of_64_dead_units_are_75_percent(tmp_path: Path, kind: str, function: bool, shape: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    model = Units(kind, function=function)
    run = recorded(tmp_path, model, torch.optim.SGD(model.parameters(), 1e-4), [torch.randn(shape) for _ in range(8)])
    (dead,) = run.family("dead_units")
    assert dead.values.tolist() == [0.75]


def _channels(x: Tensor) -> Tensor:
    """The same with 48 of 64 channels far below 0, on axis 1."""
    return x - torch.cat([torch.full((48,), 99.0), torch.zeros(16)])[:, None, None]


@pytest.mark.parametrize(
    "before",
    [
        lambda model, x: _channels(model.conv(x)),
        lambda model, x: _channels(model.conv(x)).movedim(1, -1),
        lambda model, x: _channels(model.conv(x)).flatten(2).transpose(1, -1),
        lambda model, x: _channels(model.linear(model.norm(model.conv(x).permute(0, 2, 3, 1))).permute(0, -1, 1, 2)),
        lambda model, x: _channels(model.linear(model.conv(x).movedim(1, -1)).movedim(-1, 1)).movedim(1, -1),
        lambda model, x: _channels(model.batch_norm(model.conv(x).clamp(min=-9) * 2).contiguous(memory_format=torch.channels_last)),
    ],
)
def test_units_lie_where_the_operation_that_made_them_has_them(tmp_path: Path, before: Callable[[Any, Tensor], Tensor]) -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.act = nn.ReLU()
            self.linear, self.conv = nn.Linear(64, 64), nn.Conv2d(3, 64, 1)
            self.norm, self.batch_norm = nn.LayerNorm(64), nn.BatchNorm2d(64)

        def forward(self, x: Tensor) -> Tensor:
            return self.act(before(self, x))

    torch.manual_seed(0)
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), 0.0)
    with Recorder(model, optimizer, tmp_path, budget=None) as recorder:
        for _ in range(units.WINDOW):
            loss = model(torch.randn(2, 3, 5, 5)).square().mean()
            loss.backward()
            optimizer.step()
            recorder.step(loss)
    assert read_run(tmp_path).series["dead_units/act"].values.tolist() == [0.75]


def test_units_that_are_not_finite_are_neither_dead_nor_alive(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = Units("tokens")
    bad = torch.full((4, 10, 8), math.nan)
    run = recorded(tmp_path, model, torch.optim.SGD(model.parameters(), 0.0), [*[torch.randn(4, 10, 8) for _ in range(8)], bad, *[bad] * 7])
    (dead,) = run.family("dead_units")
    assert (dead.steps.tolist(), dead.values.tolist()) == ([7], [0.75])
