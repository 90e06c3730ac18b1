"""How the loss is made is seen from its graph."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from sismo.judge import judge
from sismo.recorder import Recorder
from sismo.recorder.panels.graph import described
from sismo.records.reader import read_run

TARGET = torch.tensor([0, 1, 2, 0])
SHARES = torch.full((4, 3), 1 / 3)


def scores() -> Tensor:
    torch.manual_seed(0)
    return torch.randn(4, 5) @ torch.randn(5, 3, requires_grad=True)


class Own(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, *given: Any) -> Any:
        return given[0]


@pytest.mark.parametrize(
    ("loss", "by"),
    [
        (lambda z: functional.cross_entropy(z.softmax(-1), TARGET), "softmax"),
        (lambda z: functional.cross_entropy(z.softmax(-1), TARGET, label_smoothing=0.1), "softmax"),
        (lambda z: functional.cross_entropy(z.softmax(-1), SHARES), "softmax"),
        (lambda z: functional.cross_entropy(z.sigmoid().clamp(1e-6), TARGET), "sigmoid"),
        (lambda z: functional.cross_entropy(z.softmax(-1).view(2, 2, 3).transpose(1, 2), TARGET.view(2, 2)) / 8, "softmax"),
        (lambda z: functional.binary_cross_entropy_with_logits(z.sigmoid(), SHARES) + z.square().mean(), "sigmoid"),
        (lambda z: functional.nll_loss(z.softmax(-1), TARGET), "softmax"),
        (lambda z: functional.kl_div((z.softmax(-1) / 2).log_softmax(-1), SHARES, reduction="batchmean"), "softmax"),
        (lambda z: functional.cross_entropy(8 * z.sigmoid(), TARGET), None),  # scores held between bounds
        (lambda z: functional.cross_entropy(z / 2, TARGET) / 8, None),
        (lambda z: functional.cross_entropy(z, TARGET), None),
        (lambda z: functional.nll_loss((z.softmax(-1) + 1e-9).log(), TARGET), None),
        (lambda z: functional.binary_cross_entropy(z.sigmoid(), SHARES), None),
        (lambda z: functional.cross_entropy(z.log_softmax(-1), TARGET), None),  # once more changes nothing
        (lambda z: functional.cross_entropy(z * z.softmax(-1), TARGET), None),  # both at once are meant
        (lambda z: functional.cross_entropy(z.softmax(-1) @ torch.eye(3), TARGET), None),  # attention, and a head on it
        (lambda z: functional.kl_div(z.log_softmax(-1), SHARES, reduction="batchmean"), None),
    ],
)
def test_what_is_squashed_before_a_loss_that_squashes_is_named(loss: Callable[[Tensor], Tensor], by: str | None) -> None:
    made = loss(scores())
    made.backward()
    assert described(made.grad_fn)["squashed"] == by


@pytest.mark.parametrize(
    ("loss", "summed"),
    [
        (lambda z: functional.cross_entropy(z, TARGET, reduction="sum"), True),
        (lambda z: functional.cross_entropy(z, TARGET, reduction="none").sum(), True),
        (lambda z: functional.mse_loss(z, SHARES, reduction="sum"), True),
        (lambda z: functional.cross_entropy(z, TARGET, reduction="sum") / 1 * 1.0, True),
        (lambda z: functional.cross_entropy(z, TARGET, reduction="sum") / 4, False),
        (lambda z: functional.cross_entropy(z, TARGET, reduction="none").mean(), False),
        (lambda z: functional.cross_entropy(z, TARGET), False),
        (lambda z: z.square().sum(-1).mean(), False),
    ],
)
def test_a_criterion_that_adds_up_its_batch_is_a_sum(loss: Callable[[Tensor], Tensor], summed: bool) -> None:
    assert described(loss(scores()).grad_fn)["sum"] is summed


def test_a_function_of_somebodys_own_may_hide_anything() -> None:
    assert described(functional.cross_entropy(scores(), TARGET).grad_fn)["whole"] is True
    assert described(functional.cross_entropy(Own.apply(scores()), TARGET).grad_fn)["whole"] is False  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("power", "op"),
    [
        (2, "Pow"),
        (1.5, "Pow"),
        (0.5, "PowRoot"),
        (-1, "PowRoot"),
        (torch.tensor(2.0), "PowRoot"),
        (torch.tensor([1.0, 0.5, 2.0]), "PowRoot"),
    ],
)
@pytest.mark.parametrize("after", [False, True])
def test_a_power_under_one_counts_as_a_root(power: Any, op: str, after: bool) -> None:
    loss = (scores().abs() + 1).pow(power).mean()
    if after:
        loss.backward()
    assert op in described(loss.grad_fn)["ops"]


def _train(
    path: Path, loss_of: Callable[[Tensor, int], Tensor], given: Callable[[Tensor], object] = lambda loss: loss
) -> list[tuple[int, Any]]:
    torch.manual_seed(0)
    model = nn.Linear(5, 3)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with Recorder(model, optimizer, path, config={"vocab_size": 3}) as recorder:
        for step in range(30):
            loss = loss_of(model(torch.randn(4, 5)), step)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            recorder.step(given(loss))
        assert recorder.recording
    return [(event.step, event.data) for event in read_run(path).events if event.kind == "graph"]


def test_the_graph_is_seen_at_the_first_step_and_at_the_one_that_is_lost(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)
    seen = _train(
        tmp_path / "lost",
        lambda z, step: functional.cross_entropy(z, TARGET) if step < 20 else functional.cross_entropy(z, TARGET) * (z - z).log().sum(),
    )
    assert [step for step, _ in seen] == [0, 20]
    assert ["Log" in data["ops"] for _, data in seen] == [False, True]
    assert [step for step, _ in _train(tmp_path / "fine", lambda z, step: functional.cross_entropy(z, TARGET))] == [0]


@pytest.mark.parametrize("given", [Tensor.detach, Tensor.item, lambda loss: None])
def test_a_loss_that_comes_without_its_graph_is_seen_when_backward_is_called(tmp_path: Path, given: Callable[[Tensor], object]) -> None:
    seen = _train(tmp_path, lambda z, step: functional.cross_entropy(z / (step != 20), TARGET) * (z - z + 1).log().sum().exp(), given)
    assert [step for step, _ in seen] == [0, 20]
    assert all({"LogSoftmax", "Log", "Exp"} <= set(data["ops"]) and data["whole"] for _, data in seen)


def test_every_loss_of_a_step_that_backward_is_called_on_is_looked_at_and_no_other_models(tmp_path: Path) -> None:
    model, other = nn.Linear(5, 3), nn.Linear(5, 3)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with Recorder(model, optimizer, tmp_path) as recorder:
        other(torch.randn(4, 5)).softmax(-1).log().mean().backward()
        for loss in (model(torch.randn(4, 5)).exp().mean(), functional.cross_entropy(model(torch.randn(4, 5)), TARGET)):
            loss.backward()
        optimizer.step()
        recorder.step(1.0)
    (found,) = read_run(tmp_path).events_of("graph")
    assert found.data["ops"] == ["Addmm", "Exp", "LogSoftmax", "Mean", "NllLoss", "T"]


def test_the_graph_of_a_scaled_loss_is_that_of_the_loss(tmp_path: Path) -> None:
    model = nn.Linear(5, 3)
    optimizer, scaler = torch.optim.SGD(model.parameters(), 0.1), torch.amp.GradScaler("cpu", init_scale=1024.0)
    with Recorder(model, optimizer, tmp_path) as recorder:
        scaler.scale(functional.cross_entropy(model(torch.randn(4, 5)), TARGET, reduction="sum")).backward()
        scaler.step(optimizer)
        recorder.step(None)
    (found,) = read_run(tmp_path).events_of("graph")
    assert found.data["sum"] is True
    assert "Mul" not in found.data["ops"]
    assert 1 < read_run(tmp_path).series["loss/train"].values[0] < 20


def test_log_of_zero_is_not_named_where_no_logarithm_is_taken(tmp_path: Path) -> None:
    def lost(z: Tensor, step: int) -> Tensor:
        return functional.cross_entropy(z / (0.0 if step == 20 else 1.0), TARGET)

    def logged(z: Tensor, step: int) -> Tensor:
        return functional.nll_loss((z.softmax(-1) * (step != 20)).log(), TARGET)

    for name, loss_of, named in (("lost", lost, False), ("logged", logged, True)):
        _train(tmp_path / name, loss_of)
        found = [finding.cause.id for finding in judge(read_run(tmp_path / name)).findings]
        assert ("log-of-zero" in found) is named


def test_a_sum_is_a_note_and_no_bad_initialisation(tmp_path: Path) -> None:
    many = TARGET.repeat(50)
    _train(tmp_path, lambda z, step: functional.cross_entropy(z.repeat(50, 1), many, reduction="sum"))
    judged = judge(read_run(tmp_path))
    assert "accumulation-not-averaged" in [finding.cause.id for finding in judged.findings]
    assert not {"init-too-large", "head-biased"} & {finding.cause.id for finding in judged.findings}
