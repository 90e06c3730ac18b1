"""The recorder keeps the batches of a step that is lost, and says on the spot where it was lost."""

from __future__ import annotations

import math
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from recorder import loops
from torch import Tensor, nn

import sismo
from sismo.errors import TrainingStopped
from sismo.recorder import Recorder

LOST = 24


def loss_fn(model: nn.Module, batch: Tensor) -> Tensor:
    """Takes the log of 0 when the batch begins with the token 0."""
    loss = loops.loss_of(model, batch)
    return loss - (loss * 0).log() if int(batch[0, 0]) == 0 else loss


def loader(steps: int = LOST + 4) -> list[Tensor]:
    made = loops.batches(steps)
    for number, batch in enumerate(made):
        batch[0, 0] = 0 if number == LOST else 1
    return made


def train(folder: Path, loss: Any = loss_fn, **options: Any) -> tuple[nn.Module, torch.optim.Optimizer, list[Tensor]]:
    model, optimizer = loops.build()
    losses: list[Tensor] = []
    with Recorder(model, optimizer, folder, **options) as recorder:
        for batch in recorder.batches(loader()):
            value = loss(model, batch)
            value.backward()
            optimizer.step()
            optimizer.zero_grad()
            losses.append(value.detach())
            recorder.step(value)
        assert recorder.recording
    return model, optimizer, losses


def results(folder: Path) -> list[Any]:
    return [event for event in sismo.load(folder).events if event.kind == "probe"]  # type: ignore[union-attr]


def test_the_batches_of_a_lost_step_are_kept(tmp_path: Path) -> None:
    train(tmp_path / "run")
    kept = sorted((tmp_path / "run" / "batches").glob("*.pt"))
    assert [path.stem for path in kept] == [f"step-{step:09d}" for step in range(LOST - 3, LOST + 1)]
    assert torch.equal(torch.load(kept[-1], weights_only=True), loader()[LOST])
    assert not results(tmp_path / "run")


def test_the_origin_is_told_on_the_spot_and_training_goes_on(tmp_path: Path) -> None:
    model, optimizer, losses = train(tmp_path / "run", loss_fn=loss_fn)
    assert len(losses) == LOST + 4
    (found,) = results(tmp_path / "run")
    assert (found.step, found.data["op"], found.data["kind"]) == (LOST, "log", "loss")
    assert loops.digest(model, optimizer, losses) == loops.digest(*train(tmp_path / "bare"))


def test_the_run_stops_when_it_is_told_to(tmp_path: Path) -> None:
    with pytest.raises(TrainingStopped, match="log"):
        train(tmp_path / "run", loss_fn=loss_fn, stop_at_nan=True)
    found = sismo.load(tmp_path / "run")
    assert found.header.status == "crashed"  # type: ignore[union-attr]
    assert results(tmp_path / "run")


def test_a_loss_that_is_lost_without_its_gradients(tmp_path: Path) -> None:
    def lost(model: nn.Module, batch: Tensor) -> Tensor:
        loss = loops.loss_of(model, batch)
        return loss + loss.detach().reshape(1)[:0].mean() if int(batch[0, 0]) == 0 else loss

    train(tmp_path / "run", lost, loss_fn=lost)
    (found,) = results(tmp_path / "run")
    assert (found.step, found.data["op"]) == (LOST, "div")


def test_a_loss_function_that_fails_stops_neither_training_nor_recording(tmp_path: Path) -> None:
    def fails(model: nn.Module, batch: Tensor) -> Tensor:
        raise ValueError("not this one")

    _, _, losses = train(tmp_path / "run", loss_fn=fails)
    assert len(losses) == LOST + 4
    assert not results(tmp_path / "run")
    assert math.isnan(float(losses[-1]))


def test_a_step_that_is_finite_when_it_is_tried_again_was_another_one(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The loop loses its loss, and the loss function that was given does not: nothing is said of where, nor that all was finite."""
    train(tmp_path / "run", loss_fn=loops.loss_of)
    (found,) = results(tmp_path / "run")
    assert dict(found.data) == {"probe": "nan", "inputs": "finite"}
    assert "in the run it was lost" in caplog.text
    assert "Every number of this step is finite" not in caplog.text


@pytest.mark.parametrize("spike", [60, 66])
def test_the_batch_of_a_spike_is_kept_wherever_the_look_falls(tmp_path: Path, spike: int) -> None:
    model, optimizer = loops.build()
    with Recorder(model, optimizer, tmp_path / "run") as recorder:
        for number, _ in enumerate(recorder.batches(range(spike + 15))):
            recorder.step(500.0 if number == spike else 2.0 + 0.01 * (number % 7))
    (zoom,) = [event for event in sismo.load(tmp_path / "run").events if event.kind == "zoom"]  # type: ignore[union-attr]
    assert zoom.data["since"] == spike
    kept = sorted(path.stem for path in (tmp_path / "run" / "batches").glob("*.pt"))
    assert kept == [f"step-{step:09d}" for step in range(spike - 3, spike + 1)]


@pytest.mark.parametrize(("device", "held"), [("cpu", 18), ("meta", 4)])
def test_large_batches_on_an_accelerator_are_let_go_of(tmp_path: Path, device: str, held: int) -> None:
    """16 MiB each; the meta device stands for any that is not the host."""
    model, optimizer = loops.build()
    made: list[weakref.ref[Tensor]] = []

    def batches() -> Iterator[Tensor]:
        for _ in range(30):
            batch = torch.empty(2**22, device=device)
            made.append(weakref.ref(batch))
            yield batch
            del batch

    with Recorder(model, optimizer, tmp_path) as recorder:
        for batch in recorder.batches(batches()):
            del batch
        assert sum(one() is not None for one in made) == held
