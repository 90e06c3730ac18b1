"""What the recorder sees of the targets of a loss."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from recorder.loops import batches, build, loss_of
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.functional import cross_entropy

from sismo.judge import judge
from sismo.recorder import Recorder
from sismo.records.reader import read_run
from sismo.records.types import Run

X = torch.arange(24.0).reshape(6, 4) / 24
LABELS = torch.tensor([0, 2, 1, 2, -100, 0])


def recorded(folder: Path, loss: Callable[[nn.Module], Tensor], outputs: int = 3, budget: float | None = None, steps: int = 6) -> Run:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, outputs))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with Recorder(model, optimizer, folder, budget=budget) as recorder:
        for _ in range(steps):
            optimizer.zero_grad()
            made = loss(model)
            made.backward()
            optimizer.step()
            recorder.step(made)
    return read_run(folder)


def seen(run: Run) -> dict[str, float]:
    return {name.removeprefix("target/"): float(series.values[0]) for name, series in run.series.items() if name.startswith("target/")}


SAME = torch.full((6,), 2)
ONES = torch.ones(6, 3)
RAMP = torch.arange(6.0)[:, None] * torch.tensor([0.0, 1.0, 0.5])


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        (lambda model: functional.cross_entropy(model(X), LABELS), {"level": 1.0, "spread": 2.0, "classes": 3.0}),
        (
            lambda model: cross_entropy(model(X), SAME),
            {"level": 2.0, "spread": 0.0, "classes": 3.0},
        ),  # imported before there was a recorder
        (lambda model: nn.CrossEntropyLoss(label_smoothing=0.1)(model(X), SAME), {"level": 2.0, "spread": 0.0, "classes": 3.0}),
        (lambda model: functional.nll_loss(model(X).log_softmax(-1), SAME), {"level": 2.0, "spread": 0.0, "classes": 3.0}),
        (lambda model: functional.mse_loss(model(X), RAMP), {"level": 1.25, "spread": 5.0}),
        (lambda model: functional.smooth_l1_loss(model(X), 3 * ONES), {"level": 3.0, "spread": 0.0}),
        (lambda model: functional.binary_cross_entropy_with_logits(model(X), ONES), {"level": 1.0, "spread": 0.0, "classes": 2.0}),
        # Two criteria, as of a critic: what is constant in each is not so in both.
        (lambda model: functional.mse_loss(model(X), ONES) + functional.mse_loss(model(X), 0 * ONES), {"level": 0.5, "spread": 1.0}),
        # A contrast: the partner stands in the first place of as many similarities as there are others.
        (lambda model: cross_entropy(model(X) @ model(X).T, torch.zeros(6, dtype=torch.long)), {"level": 0.0, "classes": 6.0}),
        (lambda model: model(X).square().mean(), {}),
    ],
)
def test_spread_level_and_classes(tmp_path: Path, loss: Callable[[nn.Module], Tensor], expected: dict[str, float]) -> None:
    assert seen(recorded(tmp_path, loss)) == pytest.approx(expected)


def test_an_evaluation_is_not_looked_at_and_a_lost_target_is(tmp_path: Path) -> None:
    def loss(model: nn.Module) -> Tensor:
        with torch.no_grad():
            functional.mse_loss(model(X), torch.full((6, 3), math.nan))
        return functional.mse_loss(model(X), RAMP)

    assert seen(recorded(tmp_path / "a", loss))["level"] == 1.25
    calls = iter(range(9))
    bad = recorded(tmp_path / "b", lambda model: functional.l1_loss(model(X), RAMP * (math.nan if next(calls) == 5 else 1.0)), budget=1e-9)
    level = bad.series["target/level"]
    assert level.steps.tolist() == [0, 1, 2, 3, 5]  # the first steps, whatever the budget, and the one whose loss is lost
    assert [math.isnan(value) for value in level.values] == [False] * 4 + [True]
    assert len(bad.series["target/spread"]) == 4


def test_labels_that_are_the_tokens_in_the_same_place_or_the_next(tmp_path: Path) -> None:
    def unshifted(model: nn.Module, batch: Tensor) -> Tensor:
        return cross_entropy(model(batch[:, :-1]).flatten(0, 1), batch[:, :-1].flatten())

    shares: list[tuple[bool, bool]] = []
    for number, loss in enumerate((loss_of, unshifted)):
        model, optimizer = build()
        with Recorder(model, optimizer, tmp_path / str(number), budget=None) as recorder:
            for batch in batches(4):
                optimizer.zero_grad()
                made = loss(model, batch)
                made.backward()
                optimizer.step()
                recorder.step(made)
        run = read_run(tmp_path / str(number))
        shares.append(tuple(float(run.series[f"target/{name}"].values.min()) == 1.0 for name in ("as_next", "as_input")))  # type: ignore[arg-type]
        assert run.series["batch/future_keys"].values.tolist() == [0.0] * 4
    assert shares == [(True, False), (False, True)]


def test_nothing_is_left_behind(tmp_path: Path) -> None:
    before = [torch._C._nn.cross_entropy_loss, torch.kl_div]
    recorded(tmp_path, lambda model: cross_entropy(model(X), LABELS))
    assert [torch._C._nn.cross_entropy_loss, torch.kl_div] == before


def test_a_classifier_of_one_class_and_a_contrast_are_told_apart(tmp_path: Path) -> None:
    one = recorded(tmp_path / "one", lambda model: cross_entropy(model(X), SAME), steps=150)
    assert judge(one).findings[0].cause.id == "degenerate-targets"
    contrast = recorded(
        tmp_path / "contrast", lambda model: cross_entropy(model(X) @ model(X).T, torch.zeros(6, dtype=torch.long)), steps=150
    )
    assert "degenerate-targets" not in {finding.cause.id for finding in judge(contrast).findings}


def test_compiled_losses_are_not_broken(tmp_path: Path) -> None:
    compiled = torch.compile(lambda scores: functional.cross_entropy(scores, LABELS), fullgraph=True, backend="eager")
    scores = torch.ones(6, 3, requires_grad=True)
    expected = float(functional.cross_entropy(scores.detach(), LABELS))
    given: list[float] = []

    def loss(model: nn.Module) -> Tensor:
        given.append(float(compiled(scores).detach()))
        return functional.cross_entropy(model(X), LABELS)

    assert seen(recorded(tmp_path, loss))["spread"] == 2.0
    assert given == pytest.approx([expected] * 6)


class Scored(nn.Module):
    """A model that works its own loss out."""

    def __init__(self) -> None:
        super().__init__()
        self.scores = nn.Linear(4, 3)

    def forward(self, x: Tensor, labels: Tensor) -> Tensor:
        scores = self.scores(x)
        return functional.cross_entropy(scores, labels) + functional.binary_cross_entropy_with_logits(scores, torch.zeros_like(scores))


@pytest.mark.filterwarnings("ignore:.*torch.jit.*:DeprecationWarning")
def test_a_criterion_can_be_made_a_script_while_it_is_watched(tmp_path: Path) -> None:
    model = Scored()
    with Recorder(model, torch.optim.SGD(model.parameters(), 0.1), tmp_path) as recorder:
        loss = model(X, LABELS)
        loss.backward()
        recorder.step(loss)
        scripted = torch.jit.script(model)
        assert float(scripted(X, LABELS).detach()) == pytest.approx(float(loss.detach()))
    assert float(torch.jit.script(Scored())(X, LABELS).detach()) > 0


@pytest.mark.filterwarnings("ignore:.*torch.jit.*:DeprecationWarning")
def test_recorders_that_are_closed_in_any_order_leave_criteria_that_can_be_made_scripts(tmp_path: Path) -> None:
    models = [Scored(), Scored()]
    recorders = [Recorder(model, torch.optim.SGD(model.parameters(), 0.1), tmp_path / str(at)) for at, model in enumerate(models)]
    for recorder in recorders:
        recorder.close()
    assert float(torch.jit.script(Scored())(X, LABELS).detach()) > 0
