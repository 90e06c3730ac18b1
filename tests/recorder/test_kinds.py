"""Every kind of number, optimizer, input and loss that a loop may have is recorded rightly or left out, and ends nothing."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from recorder.loops import batches, build, loss_of
from torch import Tensor, nn
from torch.nn import functional

from sismo.errors import UsageError
from sismo.recorder import Recorder
from sismo.records.reader import read_run
from sismo.records.types import Run


def small(dtype: torch.dtype = torch.float32) -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)).to(dtype)


def inputs(steps: int, dtype: torch.dtype = torch.float32) -> list[Tensor]:
    generator = torch.Generator("cpu").manual_seed(1)
    return [torch.randn(6, 8, generator=generator, dtype=torch.float32, device="cpu").to(dtype) for _ in range(steps)]


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


def _waves(tensor: Tensor) -> Tensor:
    return torch.complex(tensor, tensor)


def _jagged(tensor: Tensor) -> Tensor:
    return torch.nested.nested_tensor([tensor[:2], tensor[2:]], layout=torch.jagged)


@pytest.mark.parametrize("turn", [_waves, Tensor.to_sparse, _jagged])
def test_inputs_of_other_kinds_are_read_or_left_out(tmp_path: Path, turn: Callable[[Tensor], Tensor]) -> None:
    class Wide(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(8, 2)

        def forward(self, x: Tensor) -> Tensor:
            return self.linear(x.real if x.is_complex() else x.to_dense() if x.is_sparse else x.values())

    model = Wide()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with Recorder(model, optimizer, tmp_path, budget=None) as recorder:
        for one in inputs(2):
            loss = model(turn(one)).square().mean()
            loss.backward()
            optimizer.step()
            recorder.step(loss)
        assert recorder.recording


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


def test_odd_validation_losses_are_said_once_and_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    model, optimizer = build()
    with Recorder(model, optimizer, tmp_path) as recorder, caplog.at_level(logging.WARNING):
        for val in (None, "bad", "worse", {"a b": 1.0, "c": None}, torch.ones(2), 0.5):
            recorder.step(1.0, val=val)
            recorder.evaluation(val)
        assert recorder.recording
    run = read_run(tmp_path)
    assert run.series["loss/val"].values[-1] == 0.5
    assert caplog.text.count("is a str") == 2  # once for either way


@pytest.mark.parametrize("config", ["a.yaml", ["x"], 3, object(), {"a": {"api_key": "hidden", "b": {"password": "hidden", "c": 1}}}])
def test_settings_of_any_kind_are_kept_without_their_secrets(tmp_path: Path, config: object) -> None:
    model, optimizer = build()
    with Recorder(model, optimizer, tmp_path, config=config) as recorder:
        assert recorder.recording
    assert "hidden" not in (tmp_path / "manifest.json").read_text()
    kept = read_run(tmp_path).header.config
    assert kept.get("a", {"b": {"c": 1}}) == {"b": {"c": 1}}


def test_lazy_parameters_are_told_at_once(tmp_path: Path) -> None:
    model = nn.Sequential(nn.LazyLinear(4), nn.Linear(4, 1))
    with pytest.raises(UsageError, match="call it once on a batch"):
        Recorder(model, torch.optim.SGD(model.parameters(), 0.1), tmp_path)


def test_a_folder_that_cannot_be_written_is_said_in_one_line(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").touch()
    model, optimizer = build()
    with Recorder(model, optimizer, tmp_path / "file" / "run") as recorder, caplog.at_level(logging.WARNING):
        assert not recorder.recording
        recorder.step(loss_of(model, batches(1)[0]))
    assert "Traceback" not in caplog.text
    assert "Please report" not in caplog.text


def test_a_fault_of_the_very_start_ends_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: object) -> None:
        raise RuntimeError("no")

    monkeypatch.setattr("sismo.recorder.session.scene", broken)
    model, optimizer = build()
    with Recorder(model, optimizer, tmp_path) as recorder:
        assert not recorder.recording
        assert recorder.model is model
        recorder.step(1.0)
        recorder.evaluation(1.0)


def test_two_networks_that_train_each_other_clear_their_gradients_in_time(tmp_path: Path) -> None:
    """The maker's backward pass goes through the critic, whose gradient is cleared after it."""
    torch.manual_seed(0)
    maker, critic = nn.Linear(4, 8), nn.Linear(8, 1)
    first, second = torch.optim.Adam(critic.parameters()), torch.optim.Adam(maker.parameters())
    with (
        Recorder(critic, first, tmp_path / "critic", budget=None) as one,
        Recorder(maker, second, tmp_path / "maker", budget=None) as other,
    ):
        for to_none in (True, True, True, False, False, False):
            first.zero_grad(set_to_none=to_none)
            made = maker(torch.randn(3, 4))
            loss = functional.softplus(critic(made.detach())).mean()
            loss.backward()
            first.step()
            one.step(loss)
            second.zero_grad()
            loss = functional.softplus(-critic(made)).mean()
            loss.backward()
            second.step()
            other.step(loss)
    for name in ("critic", "maker"):
        assert read_run(tmp_path / name).series["grad_carried"].values.tolist() == [0.0] * 6


@pytest.mark.parametrize(
    ("layer", "modes", "expected"),
    [
        (nn.Dropout(0.1), (True, True, False, False), [1.0, 1.0, 0.0, 0.0]),
        (nn.BatchNorm1d(8), (False, True, False, True), [0.0, 1.0, 0.0, 1.0]),
        (nn.Dropout(0.0), (True, True, False, False), []),  # the mode makes no difference
        (nn.ReLU(), (False, False, True, True), []),
    ],
)
def test_the_mode_of_a_training_step_is_recorded_where_it_matters(
    tmp_path: Path, layer: nn.Module, modes: tuple[bool, ...], expected: list[float]
) -> None:
    model = nn.Sequential(nn.Linear(8, 8), layer)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with Recorder(model, optimizer, tmp_path) as recorder:
        for training in modes:
            model.eval()(inputs(1)[0])  # an evaluation that forgot no_grad
            if training:
                model.train()
            loss = model(inputs(1)[0]).square().mean()
            loss.backward()
            optimizer.step()
            recorder.step(loss)
        assert recorder.recording
    found = read_run(tmp_path).series.get("batch/training")
    assert (found.values.tolist() if found else []) == expected


@pytest.mark.parametrize(("val", "evaluated", "expected"), [(None, True, []), (1.0, True, [1.0]), (1.0, False, [0.0])])
def test_calls_without_gradients_are_evaluations_where_there_is_a_validation_loss(
    tmp_path: Path, val: float | None, evaluated: bool, expected: list[float]
) -> None:
    model = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.1))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with Recorder(model, optimizer, tmp_path) as recorder:
        with torch.no_grad():
            model(inputs(1)[0])
        loss = model(inputs(1)[0]).square().mean()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            model.train(evaluated)(inputs(1)[0])
        recorder.step(loss, val=val)
    found = read_run(tmp_path).series.get("batch/mode")
    assert (found.values.tolist() if found else []) == expected


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


_LOWEST = torch.finfo(torch.float32).min


@pytest.mark.parametrize(
    ("beside", "first", "expected"),
    [
        ([[0.0, -math.inf], [0.0, 0.0]], 1.0, 0.0),  # a mask as it is added to scores
        ([[0.0, _LOWEST], [0.0, _LOWEST]], 1.0, 0.0),
        ([[-0.5, -math.inf], [-1.0, -0.5]], 1.0, 0.0),  # with a bias for the distance
        ([[1.0, -math.inf], [0.0, 0.0]], 1.0, 1.0),
        ([[0.0, math.inf], [0.0, 0.0]], 1.0, 1.0),
        ([[0.0, math.nan], [0.0, -math.inf]], 1.0, 1.0),
        ([[0.0, 0.0], [0.0, 0.0]], -math.inf, 1.0),  # what comes first is no mask
    ],
)
def test_a_mask_that_is_given_beside_the_input_is_no_bad_batch(
    tmp_path: Path, beside: list[list[float]], first: float, expected: float
) -> None:
    class Masked(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(2, 2)

        def forward(self, x: Tensor, mask: Tensor) -> Tensor:
            return self.linear(x) + mask.softmax(-1)

    model = Masked()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with Recorder(model, optimizer, tmp_path) as recorder:
        loss = model(torch.full((2, 2), first), torch.tensor(beside)).square().mean()
        loss.backward()
        optimizer.step()
        recorder.step(loss)
    assert read_run(tmp_path).series["batch/nonfinite"].values.tolist() == [expected]


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


def test_a_loss_that_is_not_given_is_what_backward_was_called_on(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    from torch.utils.checkpoint import checkpoint

    def losses(kind: str) -> list[float]:
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))
        quasi = kind == "closure"
        optimizer: torch.optim.Optimizer = torch.optim.LBFGS(model.parameters(), 0.1) if quasi else torch.optim.SGD(model.parameters(), 0.1)
        scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, enabled=kind == "scaled")
        meant = []
        with Recorder(model, optimizer, tmp_path / kind) as recorder:
            for _ in range(3):
                batch, parts = torch.randn(8, 4), 2 if kind == "parts" else 1
                first: list[float] = []

                def closure(batch: torch.Tensor = batch, parts: int = parts, first: list[float] = first) -> torch.Tensor:
                    optimizer.zero_grad()
                    for part in batch.chunk(parts):
                        hidden = (
                            checkpoint(model[:2], part.requires_grad_(), use_reentrant=True) if kind == "checkpointed" else model[:2](part)
                        )
                        loss = model[2](hidden).square().mean() / parts
                        first.append(loss.item())
                        torch.autograd.backward(iter([scaler.scale(loss)])) if kind == "scaled" else loss.backward()
                    return loss

                if quasi:
                    optimizer.step(closure)
                    assert len(first) > 2
                    first = first[:1]
                else:
                    closure()
                    scaler.step(optimizer)
                    scaler.update()
                meant.append(sum(first))
                recorder.step(None)
            assert recorder.recording
        assert read_run(tmp_path / kind).series["loss/train"].values.tolist() == pytest.approx(meant)
        return meant

    for kind in ("plain", "parts", "scaled", "checkpointed", "closure"):
        losses(kind)
    assert "given no loss" not in caplog.text
    model, optimizer = build()
    with Recorder(model, optimizer, tmp_path / "none") as recorder:
        recorder.step(None)
        recorder.step(None)
    assert caplog.text.count("given no loss") == 1
