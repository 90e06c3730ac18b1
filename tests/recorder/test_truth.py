"""Training with the recorder is training without it, bit for bit; and no step waits for a number."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from recorder.loops import batches, build, digest, loss_of, train

import sismo
from sismo.recorder import Recorder


@pytest.mark.parametrize("budget", [0.01, None])
@pytest.mark.parametrize("autocast", [None, torch.bfloat16, torch.float16])
def test_not_one_bit_differs(tmp_path: Path, autocast: torch.dtype | None, budget: float | None) -> None:
    def run(recorded: bool) -> str:
        model, optimizer = build()
        scaler = torch.amp.GradScaler("cpu", init_scale=1024.0) if autocast is torch.float16 else None
        if not recorded:
            return digest(model, optimizer, train(model, optimizer, 12, autocast=autocast, scaler=scaler))
        with Recorder(model, optimizer, tmp_path / "run", budget=budget) as recorder:
            losses = train(model, optimizer, 12, recorder.step, autocast=autocast, scaler=scaler)
            assert recorder.recording
        return digest(model, optimizer, losses)

    assert run(recorded=True) == run(recorded=False)
    found = sismo.load(tmp_path / "run")
    assert isinstance(found, sismo.records.types.Run)
    assert found.header.dtype == {None: "fp32", torch.bfloat16: "bf16", torch.float16: "fp16"}[autocast]


def test_activation_checkpointing_is_recorded_once_and_changes_nothing(tmp_path: Path) -> None:
    def run(recorded: bool, *, checkpointing: bool = True, name: str = "run") -> str:
        model, optimizer = build(checkpointing=checkpointing)
        if not recorded:
            return digest(model, optimizer, train(model, optimizer, 4))
        with Recorder(model, optimizer, tmp_path / name, budget=None) as recorder:
            losses = train(model, optimizer, 4, recorder.step)
        return digest(model, optimizer, losses)

    assert run(recorded=True) == run(recorded=False)
    run(recorded=True, checkpointing=False, name="plain")
    checkpointed, plain = sismo.load(tmp_path / "run"), sismo.load(tmp_path / "plain")
    for channel, series in plain.series.items():  # pyright: ignore[reportAttributeAccessIssue]
        if channel.startswith(("act_", "head_")):
            assert series.values.tolist() == checkpointed.series[channel].values.tolist(), channel  # pyright: ignore[reportAttributeAccessIssue]


def test_no_call_that_would_wait_for_a_device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, optimizer = build()
    calls: list[str] = []

    def counted(name: str) -> Callable[..., Any]:
        original = getattr(torch.Tensor, name)

        def call(*arguments: Any, **options: Any) -> Any:
            calls.append(name)
            return original(*arguments, **options)

        return call

    def steps(recorder: Recorder | None) -> int:
        calls.clear()
        for batch in batches(6):
            loss = loss_of(model, batch)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
            if recorder:
                recorder.step(loss)
        return len(calls)

    for name in ("item", "tolist", "cpu", "__bool__", "__float__", "__int__", "__index__", "nonzero"):
        monkeypatch.setattr(torch.Tensor, name, counted(name))
    without = steps(None)
    with Recorder(model, optimizer, tmp_path / "run", budget=None) as recorder:
        assert steps(recorder) == without


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_cuda_never_waits(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8)).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    inputs = torch.randn(32, 64, device="cuda")
    with Recorder(model, optimizer, tmp_path / "run", budget=None) as recorder:
        for number in range(20):
            if number == 5:
                torch.cuda.set_sync_debug_mode("error")
            loss = model(inputs).square().mean()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            recorder.step(loss)
        torch.cuda.set_sync_debug_mode("default")
        assert recorder.recording
