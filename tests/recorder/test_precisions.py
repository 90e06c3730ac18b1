"""Parameters of every precision, and optimizers of every kind, are measured as they are."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from recorder.recordings import inputs, small
from torch import Tensor, nn

from sismo.recorder import Recorder
from sismo.records.reader import read_run
from sismo.records.types import Run


def recorded(
    path: Path, model: nn.Module, optimizer: torch.optim.Optimizer, given: list[Tensor], *, closure: bool = False, clip: float | None = None
) -> tuple[Run, list[float], list[float]]:
    """Every step in full; returns the run, and by step the norm of the gradient and the update ratio in double precision."""
    norms: list[float] = []
    ratios: list[float] = []

    def square(tensors: list[Tensor]) -> float:
        wide = [torch.view_as_real(one) if one.is_complex() else one for one in tensors]
        return sum(float(one.double().square().sum()) for one in wide)

    with Recorder(model, optimizer, path, budget=None) as recorder:
        for one in given:
            before = [parameter.detach().clone() for parameter in model.parameters()]
            first: list[float] = []

            def work(one: Tensor = one, first: list[float] = first) -> Tensor:
                optimizer.zero_grad()
                loss = model(one).square().mean()
                loss.backward()
                first.append(math.sqrt(square([parameter.grad for parameter in model.parameters() if parameter.grad is not None])))
                if clip:
                    nn.utils.clip_grad_norm_(model.parameters(), clip)
                return loss

            loss = optimizer.step(work) if closure else work()  # pyright: ignore[reportArgumentType, reportCallIssue]
            if not closure:
                optimizer.step()
            norms.append(first[0])
            moved = [new.detach() - old for new, old in zip(model.parameters(), before, strict=True)]
            ratios.append(math.sqrt(square(moved) / square(before)))
            recorder.step(loss)
        assert recorder.recording
    return read_run(path), norms, ratios


@pytest.mark.parametrize("clip", [None, 0.01])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_norms_are_right_in_every_precision(tmp_path: Path, dtype: torch.dtype, clip: float | None) -> None:
    model = small(dtype)
    run, norms, ratios = recorded(tmp_path, model, torch.optim.SGD(model.parameters(), 0.1), inputs(3, dtype), clip=clip)
    assert run.series["grad_norm/pre"].values == pytest.approx(norms, rel=1e-2 if dtype is torch.bfloat16 else 1e-5)
    assert run.series["update_ratio/0"].values == pytest.approx(ratios, rel=1e-2 if dtype is torch.bfloat16 else 1e-4)


def test_parameters_of_several_precisions_are_measured_together(tmp_path: Path) -> None:
    class Mixed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = nn.Linear(8, 8).double(), nn.Linear(8, 2)

        def forward(self, x: Tensor) -> Tensor:
            return self.b(self.a(x.double()).float())

    torch.manual_seed(0)
    model = Mixed()
    run, norms, _ = recorded(tmp_path, model, torch.optim.SGD(model.parameters(), 0.1), inputs(2))
    assert run.series["grad_norm/pre"].values == pytest.approx(norms, rel=1e-5)


def test_complex_parameters_count_as_both_of_their_parts(tmp_path: Path) -> None:
    class Waves(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.randn(8, 4, dtype=torch.complex64))

        def forward(self, x: Tensor) -> Tensor:
            return (x.to(torch.complex64) @ self.weight).abs()

    torch.manual_seed(0)
    model = Waves()
    run, norms, ratios = recorded(tmp_path, model, torch.optim.Adam(model.parameters(), 0.1), inputs(3))
    assert run.series["grad_norm/pre"].values == pytest.approx(norms, rel=1e-5)
    assert run.series["update_ratio/0"].values == pytest.approx(ratios, rel=1e-4)
    assert run.header.config["sismo"]["unheld"] == []  # pyright: ignore[reportArgumentType, reportCallIssue, reportIndexIssue]


@pytest.mark.parametrize("make", [torch.optim.SGD, torch.optim.AdamW, torch.optim.LBFGS])
def test_a_closure_is_told_of_after_it_has_worked_out_the_gradients(tmp_path: Path, make: Callable[..., torch.optim.Optimizer]) -> None:
    model = small()
    clip = None if make is torch.optim.LBFGS else 0.5  # it would clip at each of its evaluations
    run, norms, ratios = recorded(tmp_path, model, make(model.parameters(), lr=0.1), inputs(3), closure=True, clip=clip)
    assert run.series["grad_norm/pre"].values == pytest.approx(norms, rel=1e-5)
    assert run.series["update_ratio/0"].values == pytest.approx(ratios, rel=1e-4)


class Own(torch.optim.Optimizer):
    """Keeps what Adam keeps, with settings of its own."""

    def __init__(self, parameters: Any, **settings: Any) -> None:
        super().__init__(parameters, settings)

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        for group in self.param_groups:
            for one in group["params"]:
                state = self.state[one]
                state["step"] = state.get("step", 0) + 1
                state["exp_avg_sq"] = one.grad.square()
                one.sub_(0.01 * one.grad)


@pytest.mark.parametrize(
    "settings", [{}, {"lr": None}, {"lr": 0.1, "eps": (1e-30, 1e-3)}, {"lr": 0.1, "betas": (0.9, 0.9, 0.9), "eps": 1e-8}]
)
def test_an_optimizer_that_keeps_what_adam_keeps_is_not_taken_for_it(tmp_path: Path, settings: dict[str, Any]) -> None:
    model = small()
    run, norms, _ = recorded(tmp_path, model, Own(model.parameters(), **settings), inputs(3))
    assert run.series["grad_norm/pre"].values == pytest.approx(norms, rel=1e-5)
    assert ("lr/0" in run.series) == (settings.get("lr") is not None)
    assert not [name for name in run.series if name.startswith("adam_rms")]


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_the_default_dtype_of_the_loop_is_its_own(tmp_path: Path, dtype: torch.dtype) -> None:
    model = small()
    torch.set_default_dtype(dtype)
    try:
        run, norms, _ = recorded(tmp_path, model, torch.optim.AdamW(model.parameters()), inputs(2))
    finally:
        torch.set_default_dtype(torch.float32)
    assert run.series["grad_norm/pre"].values == pytest.approx(norms, rel=1e-5)


def test_the_default_device_of_the_loop_is_its_own(tmp_path: Path) -> None:
    model, given = small(), inputs(2)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with Recorder(model, optimizer, tmp_path, budget=None) as recorder:
        torch.set_default_device("meta")
        try:
            for one in given:
                loss = model(one).square().mean()
                loss.backward()
                optimizer.step()
                optimizer.zero_grad()
                recorder.step(loss)
        finally:
            torch.set_default_device(None)
        assert recorder.recording
    assert len(read_run(tmp_path).series["loss/train"]) == 2


def test_skipped_steps_of_a_fused_optimizer_are_counted_and_not_measured(tmp_path: Path) -> None:
    model = small()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-2, fused=True)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    with Recorder(model, optimizer, tmp_path, budget=None) as recorder:
        for number, one in enumerate(inputs(4)):
            optimizer.zero_grad()
            loss = model(one).square().mean()
            scaler.scale(loss * (math.inf if number == 1 else 1.0)).backward()
            scaler.step(optimizer)
            scaler.update()
            recorder.step(loss)
        assert recorder.recording
    run = read_run(tmp_path)
    assert run.series["skipped"].values.tolist() == [0, 1, 0, 0]
    assert [event.step for event in run.events_of("overflow")] == [1]
    assert run.series["update_ratio/0"].steps.tolist() == [0, 2, 3]


def test_gradients_of_few_rows_are_looked_at_as_any_other(tmp_path: Path) -> None:
    model = nn.EmbeddingBag(10, 4, mode="sum", sparse=True)
    optimizer = torch.optim.SparseAdam(model.parameters(), 0.1)
    with Recorder(model, optimizer, tmp_path, budget=None) as recorder:
        for step in range(4):
            optimizer.zero_grad()
            loss = model(torch.tensor([[step, step + 1]])).square().mean() * (math.nan if step == 3 else 1.0)
            loss.backward()
            optimizer.step()
            recorder.step(loss)
        assert recorder.recording
    assert [series.steps.tolist() for name, series in read_run(tmp_path).series.items() if name.startswith("weight_nonfinite")] == [[3]]


@pytest.mark.parametrize("budget", [None, 0.01])
@pytest.mark.parametrize(
    "calls",
    [
        (("all", 0.05), ("head", 0.01)),
        (("head", 0.01), ("all", 0.05)),
        (("all", 0.05), ("all", 0.02)),
        (("body", 0.05), ("head", 0.01)),
        (("value", 0.01), ("all", 0.02)),
        (("head", 0.01), ("value", 0.001)),
    ],
)
def test_norms_are_right_where_clipping_is_called_for_groups_that_overlap(
    tmp_path: Path, calls: tuple[tuple[str, float], ...], budget: float | None
) -> None:
    model = small()
    parts = {"all": list(model.parameters()), "body": list(model[0].parameters()), "head": list(model[2].parameters())}
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    expected: dict[str, list[float]] = {"pre": [], "post": []}

    def norm() -> float:
        return math.sqrt(sum(float(one.grad.double().square().sum()) for one in parts["all"] if one.grad is not None))

    with Recorder(model, optimizer, tmp_path, budget=budget) as recorder:
        for one in inputs(5):
            optimizer.zero_grad()
            loss = model(one).square().mean()
            loss.backward()
            expected["pre"].append(norm())
            for index, (part, bound) in enumerate(calls):
                if part == "value":
                    nn.utils.clip_grad_value_(parts["all"], bound)
                else:
                    nn.utils.clip_grad_norm_(parts[part], bound)
                if index == 0 and part == "all" and calls[1][0] == "all":
                    expected["pre"][-1] = norm()  # of two calls for the same weights the last one counts
            expected["post"].append(norm())
            optimizer.step()
            recorder.step(loss)
        assert recorder.recording
    run = read_run(tmp_path)
    for name, values in expected.items():
        np.testing.assert_allclose(run.series[f"grad_norm/{name}"].values, values, rtol=1e-4)
