"""Small models, and how they are recorded."""

from __future__ import annotations

import torch
from torch import Tensor, nn


def small(dtype: torch.dtype = torch.float32) -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)).to(dtype)


def inputs(steps: int, dtype: torch.dtype = torch.float32) -> list[Tensor]:
    generator = torch.Generator("cpu").manual_seed(1)
    return [torch.randn(6, 8, generator=generator, dtype=torch.float32, device="cpu").to(dtype) for _ in range(steps)]
