"""Tables: twenty columns of normal numbers, and a class that a fixed random net draws from them.

The class is drawn, not decided: its log odds are those of the net. The entropy of that draw is the floor of the loss.
"""

from __future__ import annotations

import torch
from torch import Tensor

from sismo.lab.types import Batch, Data, Settings

COLUMNS, CLASSES, HIDDEN = 20, 8, 32
SHARPNESS = 3.0
"""Deviation of the log odds: at 3 the best possible loss lies well under ln(8) and well above 0."""
HELD_OUT = 1000


def data(settings: Settings) -> Data:
    """``settings.rows`` rows to train on and 1,000 others; the seed draws the rows and the net behind them."""
    generator = torch.Generator().manual_seed(settings.seed)
    inner, outer = torch.randn(COLUMNS, HIDDEN, generator=generator), torch.randn(HIDDEN, CLASSES, generator=generator)

    def drawn(rows: int) -> Batch:
        inputs = torch.randn(rows, COLUMNS, generator=generator)
        odds = torch.tanh(inputs @ inner / COLUMNS**0.5) @ outer
        targets = _draw(odds * (SHARPNESS / odds.std()), generator)
        return Batch(inputs, targets, torch.full_like(targets, -1))

    return Data(drawn(settings.rows), drawn(HELD_OUT))


def _draw(odds: Tensor, generator: torch.Generator) -> Tensor:
    return torch.multinomial(odds.softmax(-1), 1, generator=generator)[:, 0]
