"""Small models, and how they are recorded."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor, nn

from sismo.recorder import Recorder
from sismo.records.reader import read_run
from sismo.records.types import Run


def small(dtype: torch.dtype = torch.float32) -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)).to(dtype)


def inputs(steps: int, dtype: torch.dtype = torch.float32) -> list[Tensor]:
    generator = torch.Generator("cpu").manual_seed(1)
    return [torch.randn(6, 8, generator=generator, dtype=torch.float32, device="cpu").to(dtype) for _ in range(steps)]


def recorded(path: Path, model: nn.Module, optimizer: torch.optim.Optimizer, inputs: list[Tensor], **options: object) -> Run:
    """Every step in full, with the sum of squares of the output as the loss."""
    with Recorder(model, optimizer, path, budget=None, **options) as recorder:  # pyright: ignore[reportArgumentType]
        for one in inputs:
            loss = model(one).square().mean()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            recorder.step(loss)
        assert recorder.recording
    return read_run(path)
