"""What is recorded of gradients, weights and rates is what it says it is, against the same thing worked out plainly."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from recorder.loops import batches, build, loss_of, train
from torch import Tensor, nn

from sismo.recorder import Recorder
from sismo.records.reader import read_run


def norm(tensors: list[Tensor]) -> float:
    return math.sqrt(sum(float(tensor.double().square().sum()) for tensor in tensors))


@pytest.mark.parametrize("budget", [0.5, None])
def test_gradient_norms_before_and_after_clipping(tmp_path: Path, budget: float | None) -> None:
    model, optimizer = build()
    expected: list[tuple[float, float, float]] = []
    with Recorder(model, optimizer, tmp_path, budget=budget) as recorder:
        for tokens in batches(4):
            loss = loss_of(model, tokens)
            loss.backward()
            gradients = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
            block = [parameter.grad for parameter in model.blocks[1].parameters() if parameter.grad is not None]
            pre, one = norm(gradients), norm(block)
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            expected.append((pre, norm(gradients), one))
            optimizer.step()
            optimizer.zero_grad()
            recorder.step(loss)
    run = read_run(tmp_path)
    for column, name in enumerate(("grad_norm/pre", "grad_norm/post", "grad_norm_group/blocks.1")):
        # The global norms are there at every step; those by block where there was time for them.
        series = run.series[name]
        assert len(series) == 4 or (column == 2 and budget)
        np.testing.assert_allclose(series.values, [expected[step][column] for step in series.steps.tolist()], rtol=1e-5)
    members = [name for name in run.series if name.startswith("grad_norm_group/")]
    assert members == [f"grad_norm_group/{block}" for block in ("wte", "blocks.0", "blocks.1", "ln_f", "head")]


def test_clipping_by_value_and_no_clipping(tmp_path: Path) -> None:
    from torch.nn.utils import clip_grad_value_

    for name, clip in (("value", 1e-3), ("none", None)):
        model, optimizer = build()
        tokens = batches(1)[0]
        with Recorder(model, optimizer, tmp_path / name, budget=None) as recorder:
            loss = loss_of(model, tokens)
            loss.backward()
            gradients = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
            pre = norm(gradients)
            if clip:
                clip_grad_value_(model.parameters(), clip)
            post = norm(gradients)
            optimizer.step()
            recorder.step(loss)
        run = read_run(tmp_path / name)
        assert run.series["grad_norm/pre"].values[0] == pytest.approx(pre, rel=1e-5)
        if clip:
            assert run.series["grad_norm/post"].values[0] == pytest.approx(post, rel=1e-5)
        else:
            assert "grad_norm/post" not in run.series


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("scaled", [False, True])
def test_weights_updates_and_adam(tmp_path: Path, fused: bool, scaled: bool) -> None:
    model, _ = build()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3, fused=fused)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, enabled=scaled)
    group = optimizer.param_groups[0]
    expected: list[tuple[float, float, float]] = []
    with Recorder(model, optimizer, tmp_path, budget=None) as recorder:
        for number, tokens in enumerate(batches(3), 1):
            loss = loss_of(model, tokens)
            scaler.scale(loss).backward()
            before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
            gradients = {
                name: parameter.grad / scaler.get_scale() for name, parameter in model.named_parameters() if parameter.grad is not None
            }
            scaler.step(optimizer)
            scaler.update()
            weights = norm(list(before.values()))
            update = norm([parameter.detach() - before[name] for name, parameter in model.named_parameters()])
            ratios = []
            for name, parameter in model.named_parameters():
                v = optimizer.state[parameter]["exp_avg_sq"].double() / (1 - group["betas"][1] ** number)
                ratios.append((gradients[name].double().square() / v.clamp(min=group["eps"] ** 2)).flatten())
            expected.append((weights, update / weights, float(torch.cat(ratios).mean().sqrt())))
            optimizer.zero_grad()
            recorder.step(loss)
    run = read_run(tmp_path)
    found = np.array([run.series[f"{family}/0"].values for family in ("weight_norm", "update_ratio", "adam_rms")]).T
    np.testing.assert_allclose(found, np.array(expected), rtol=1e-4)
    assert "weight_norm/blocks.1" in run.series


@pytest.mark.parametrize("clears", [True, False])
def test_what_a_step_finds_in_the_gradient(tmp_path: Path, clears: bool) -> None:
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), 0.0)
    with Recorder(model, optimizer, tmp_path, budget=None) as recorder:
        for _ in range(4):
            for _ in range(2):  # two micro-batches, whose gradients are meant to be added
                model(torch.ones(2, 3)).mean().backward()
            optimizer.step()
            recorder.step(1.0)
            if clears:
                optimizer.zero_grad()
        assert not model.bias._backward_hooks
    found = read_run(tmp_path).series["grad_carried"].values.tolist()
    assert found == ([0, 0, 0, 0] if clears else [0, 2, 4, 6])  # each micro-batch gives the bias a gradient of 1


def test_a_learning_rate_is_that_of_the_step(tmp_path: Path) -> None:
    model, optimizer = build()
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: (step + 1) / 10)

    def step(loss: Tensor) -> None:
        schedule.step()
        recorder.step(loss)

    with Recorder(model, optimizer, tmp_path) as recorder:
        train(model, optimizer, 5, step)
    np.testing.assert_allclose(read_run(tmp_path).series["lr/0"].values, [1e-4, 2e-4, 3e-4, 4e-4, 5e-4])
