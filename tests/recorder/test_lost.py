"""What the weights are like at the step that loses the gradient, before the update loses them all."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

import sismo
from sismo import Recorder


def trained(folder: Path, *, lost: str, at: int = 60, steps: int = 70) -> sismo.Run:  # pyright: ignore[reportAttributeAccessIssue]
    """A recorded run whose loss is lost by a weight, by the batch or by itself, with a budget that leaves no other look at that step."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    with Recorder(model, optimizer, folder, budget=0.0001) as recorder:
        for step in range(steps):
            inputs = torch.randn(16, 8)
            if step == at and lost == "weight":
                with torch.no_grad():
                    model.get_parameter("2.weight")[3, 3] = float("nan")
            if step == at and lost == "input":
                inputs[0, 0] = float("inf")
            loss: Tensor = (model(inputs) - inputs[:, :1]).square().mean()
            if step == at and lost == "loss":
                loss = loss + torch.log(loss.detach() * 0.0) * 0.0
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            recorder.step(loss)
    return sismo.load(folder)


@pytest.mark.parametrize(("lost", "cause"), [("weight", "nonfinite-weight"), ("input", "nonfinite-input")])
def test_a_bad_weight_is_told_from_a_bad_batch_without_a_look_at_that_step(lost: str, cause: str, tmp_path: Path) -> None:
    run = trained(tmp_path / "run", lost=lost)
    found = sismo.diagnose(run)
    assert found.causes[0].id == cause
    counts = {name: int(series.values[0]) for name, series in run.series.items() if name.startswith("weight_nonfinite/")}
    assert sorted(counts.values()) == ([0, 0, 1] if lost == "weight" else [0, 0, 0])


def test_finite_weights_rule_a_bad_weight_out(tmp_path: Path) -> None:
    found = sismo.diagnose(trained(tmp_path / "run", lost="loss"))
    assert "nonfinite-weight" not in {cause.id for cause in found.causes}


def test_nothing_is_recorded_of_a_run_that_keeps_its_gradient(tmp_path: Path) -> None:
    run = trained(tmp_path / "run", lost="nothing")
    assert not [name for name in run.series if name.startswith("weight_nonfinite/")]


def test_a_run_that_stays_lost_is_not_looked_at_for_ever(tmp_path: Path) -> None:
    run = trained(tmp_path / "run", lost="weight", at=5, steps=60)
    (rows,) = {len(series) for name, series in run.series.items() if name.startswith("weight_nonfinite/")}
    assert rows == 20
