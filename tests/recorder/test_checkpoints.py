"""Checkpoints: a run goes on from one bit for bit, the good ones are kept, and what is done again replaces what was."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
from recorder.loops import batches, build, digest, loss_of, train
from torch import nn

from sismo.recorder import Recorder
from sismo.records.reader import read_run


def test_a_run_goes_on_bit_for_bit_from_its_checkpoint(tmp_path: Path) -> None:
    whole_model, whole = build()
    losses = train(whole_model, whole, 10)
    model, optimizer = build()
    done: list[torch.Tensor] = []
    with Recorder(model, optimizer, tmp_path, save_every=2, keep=2) as recorder:
        tokens = batches(10)
        done.extend(step_of(model, optimizer, one, recorder) for one in tokens[:6])
    kept = sorted((tmp_path / "checkpoints").glob("*.pt"))
    assert [path.name for path in kept] == ["step-000000001.pt", "step-000000003.pt", "step-000000005.pt"]
    model, optimizer = build(seed=5)
    with Recorder(model, optimizer, tmp_path) as recorder:
        assert recorder.load(kept[-1]) == 6
        done.extend(step_of(model, optimizer, one, recorder) for one in tokens[6:])
    assert digest(model, optimizer, done) == digest(whole_model, whole, losses)
    run = read_run(tmp_path)
    assert run.series["loss/train"].steps.tolist() == list(range(10))
    assert [(event.step, event.data["after"]) for event in run.events_of("resume")] == [(6, 5)]
    assert [event.data["path"] for event in run.events_of("checkpoint")] == [f"checkpoints/{path.name}" for path in kept]


@pytest.mark.parametrize("lost_at", [5, 9])
def test_the_last_finite_checkpoint_before_a_lost_loss_is_kept_however_long_training_goes_on(tmp_path: Path, lost_at: int) -> None:
    model, optimizer = build()
    with Recorder(model, optimizer, tmp_path, save_every=2, keep=2) as recorder:
        for step, tokens in enumerate(batches(30)):
            if step == lost_at:
                with torch.no_grad():
                    next(model.parameters()).fill_(math.nan)
            step_of(model, optimizer, tokens, recorder)
    kept = [torch.load(path, weights_only=True) for path in sorted((tmp_path / "checkpoints").glob("*.pt"))]
    finite = [state["step"] for state in kept if all(bool(tensor.isfinite().all()) for tensor in state["model"].values())]
    assert max(finite) == lost_at - 2
    assert len(kept) <= 2 + 1 + 1  # the good ones, the one before the trouble, and the one that is not judged yet


@pytest.mark.parametrize(("first_step", "more", "expected"), [(None, 10, 20), (None, 2, 12), (4, 10, 14)])
def test_checkpoints_of_an_earlier_life_make_room_for_good_ones(tmp_path: Path, first_step: int | None, more: int, expected: int) -> None:
    def live(steps: int, first: int | None) -> set[int]:
        model, optimizer = build()
        with Recorder(model, optimizer, tmp_path, save_every=2, keep=2, first_step=first) as recorder:
            for tokens in batches(steps):
                step_of(model, optimizer, tokens, recorder)
        return {int(path.stem.partition("-")[2]) for path in (tmp_path / "checkpoints").glob("*.pt")}

    before = live(10, None)
    after = live(more, first_step)
    assert max(after) == expected - 1
    if more == 2:
        assert before <= after  # nothing is known to be good yet
    else:
        assert len(after) <= 2 + 1 + 1
        assert min(after) >= expected - 8


def test_a_run_that_goes_back_to_a_checkpoint_has_its_seam_there(tmp_path: Path) -> None:
    model, optimizer = build()
    for first in (None, 3):
        with Recorder(model, optimizer, tmp_path, first_step=first) as recorder:
            for tokens in batches(6):
                step_of(model, optimizer, tokens, recorder)
    assert [(event.step, event.data["after"]) for event in read_run(tmp_path).events_of("resume")] == [(3, 5)]


def step_of(model: nn.Module, optimizer: torch.optim.Optimizer, tokens: torch.Tensor, recorder: Recorder) -> torch.Tensor:
    loss = loss_of(model, tokens)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
    recorder.step(loss)
    return loss.detach().clone()


def test_going_back_to_a_checkpoint_replaces_what_came_after(tmp_path: Path) -> None:
    model, optimizer = build()
    with Recorder(model, optimizer, tmp_path) as recorder:
        for value in range(6):
            recorder.step(float(value))
    with Recorder(model, optimizer, tmp_path, first_step=3) as recorder:
        recorder.step(30.0, val=7.0, classes={"a": 1.0}, terms={"kl": 2.0})
        recorder.evaluation({"wiki": torch.tensor(8.0)})
    run = read_run(tmp_path)
    assert run.series["loss/train"].values.tolist() == [0, 1, 2, 30]
    assert [run.series[name].values.tolist() for name in ("loss/val", "loss_class/a", "loss_term/kl", "loss_val/wiki")] == [
        [7],
        [1],
        [2],
        [8],
    ]
