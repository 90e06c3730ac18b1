"""Pictures of stripes: ten directions, any phase, three widths, under noise.

A class is a direction, 18 degrees from its neighbours. The noise is over twice the stripes' own deviation, so that neighbours are
mistaken for each other now and then, and the loss has a floor above 0.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from sismo.lab.types import Batch, Data, Settings

SIDE, CLASSES = 16, 10
NOISE = 1.6
HELD_OUT = 500


def data(settings: Settings) -> Data:
    """``settings.rows`` pictures (1, 16, 16) to train on and 500 others."""
    generator = torch.Generator().manual_seed(settings.seed)
    return Data(_pictures(settings.rows, generator), _pictures(HELD_OUT, generator))


def _pictures(rows: int, generator: torch.Generator) -> Batch:
    targets = torch.randint(CLASSES, (rows,), generator=generator)
    angle = targets * (math.pi / CLASSES)
    phase = torch.rand(rows, generator=generator) * 2 * math.pi
    width = 1 + torch.randint(3, (rows,), generator=generator)
    y, x = torch.meshgrid(torch.arange(SIDE), torch.arange(SIDE), indexing="ij")
    along = x * _shaped(angle.cos()) + y * _shaped(angle.sin())
    stripes = torch.sin(along * _shaped(2 * math.pi / (2.0 + 2.0 * width)) + _shaped(phase))
    noisy = stripes + NOISE * torch.randn(rows, SIDE, SIDE, generator=generator)
    return Batch(noisy[:, None], targets, torch.full_like(targets, -1))


def _shaped(values: Tensor) -> Tensor:
    return values[:, None, None]
