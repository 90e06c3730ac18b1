"""How a recorded run goes on and how it ends: weights that come and go, optimizers that do, and processes that stop."""

from __future__ import annotations

import logging
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from recorder.loops import batches, build, loss_of, train
from torch import nn

from sismo.recorder import Recorder
from sismo.recorder.checkpoints import save
from sismo.records.reader import read_run

_SCRIPT = """
import os, sys
from recorder.loops import build, train
from sismo.recorder import Recorder
model, optimizer = build()
recorder = Recorder(model, optimizer, sys.argv[1])
train(model, optimizer, 3, recorder.step)
"""


def gradient_norm(model: nn.Module) -> float:
    return math.sqrt(sum(float(one.grad.double().square().sum()) for one in model.parameters() if one.grad is not None))


@pytest.mark.parametrize("later", ["thawed", "added", "all thawed"])
def test_weights_that_are_trained_later_are_measured_from_then_on(tmp_path: Path, later: str) -> None:
    model, _ = build(dropout=0.0)
    block = list(model.blocks[1].parameters())
    mine = [one for one in model.parameters() if not any(one is other for other in block)]
    if later != "added":
        for one in model.parameters() if later == "all thawed" else block:
            one.requires_grad_(False)
    optimizer = torch.optim.AdamW(mine if later == "added" else model.parameters())
    norms: list[float] = []
    with Recorder(model, optimizer, tmp_path, budget=None) as recorder:
        if later == "all thawed":
            model.requires_grad_(True)
            recorder.step(0.0)
        for number, tokens in enumerate(batches(4)):
            if number == 2 and later == "thawed":
                model.requires_grad_(True)
            elif number == 2 and later == "added":
                optimizer.add_param_group({"params": block})
            loss = loss_of(model, tokens)
            loss.backward()
            if later == "added" and number < 2:
                for one in block:
                    one.grad = None
            norms.append(gradient_norm(model))
            optimizer.step()
            optimizer.zero_grad()
            recorder.step(loss)
        assert recorder.recording
    run = read_run(tmp_path)
    pre = run.series["grad_norm/pre"].values
    assert pre[[0, -1]] == pytest.approx([norms[0], norms[-1]], rel=1e-5)
    assert {"weight_norm/blocks.1", "spectral/blocks.1.attn.out.weight"} <= run.series.keys()
    about: Any = run.header.config["sismo"]
    assert about["unheld"] == about["frozen"] == []
    assert about["trained"] == sum(one.numel() for one in model.parameters())


def test_calls_without_an_optimizer_step_are_told_of_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    model, optimizer = build()
    with Recorder(model, optimizer, tmp_path / "micro") as recorder, caplog.at_level(logging.WARNING):
        for number, tokens in enumerate(batches(8)):
            loss = loss_of(model, tokens)
            loss.backward()
            if number % 2:
                optimizer.step()
                optimizer.zero_grad()
            recorder.step(loss)
    assert caplog.text.count("took no step") == 1
    found = read_run(tmp_path / "micro").series.get("grad_carried")
    assert found is None or not found.values.any()
    caplog.clear()
    model, optimizer = build()
    with Recorder(model, optimizer, tmp_path / "fine") as recorder:
        train(model, optimizer, 4, recorder.step, autocast=torch.float16, scaler=torch.amp.GradScaler("cpu", init_scale=2.0**60))
    assert "took no step" not in caplog.text


@pytest.mark.parametrize(
    ("end", "status", "code"),
    [
        ("", "completed", 0),
        ("raise ValueError('mine')", "crashed", 1),
        ("sys.exit(0)", "completed", 0),
        ("recorder.close()", "completed", 0),
        ("if os.fork() == 0: sys.exit(0)\nos.wait()\ntrain(model, optimizer, 2, recorder.step)", "completed", 0),
    ],
)
def test_a_run_that_nobody_closes_is_closed_with_its_process(tmp_path: Path, end: str, status: str, code: int) -> None:
    tests = str(Path(__file__).parents[1])
    paths = {"PYTHONPATH": os.pathsep.join([tests, *filter(None, sys.path)])}
    command = [sys.executable, "-c", _SCRIPT + end, str(tmp_path / "run")]
    done = subprocess.run(command, env={**os.environ, **paths}, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    run = read_run(tmp_path / "run")
    assert run.header.status == status
    assert [event.data["line"] for event in run.events_of("crash")] == (["ValueError: mine"] if code else [])
    assert len(run.series["loss/train"]) == (5 if "fork" in end else 3)


@pytest.mark.parametrize(("error", "status"), [(SystemExit(0), "completed"), (SystemExit(2), "crashed"), (KeyboardInterrupt(), "crashed")])
def test_to_be_stopped_is_no_crash_of_the_training(tmp_path: Path, error: BaseException, status: str) -> None:
    model, optimizer = build()

    def loop() -> None:
        with Recorder(model, optimizer, tmp_path) as recorder:
            train(model, optimizer, 2, recorder.step)
            raise error

    with pytest.raises(type(error)):
        loop()
    run = read_run(tmp_path)
    assert run.header.status == status
    assert len(run.events_of("crash")) == (isinstance(error, SystemExit) and status == "crashed")


def test_a_checkpoint_that_the_disk_has_no_room_for_leaves_nothing_and_says_why(tmp_path: Path) -> None:
    class Full:
        def __reduce__(self) -> tuple[Any, ...]:
            raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        save(tmp_path / "a.pt", {"a": Full()})
    assert not list(tmp_path.iterdir())
