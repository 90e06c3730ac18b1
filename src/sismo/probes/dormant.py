"""Weights that begin at zero on purpose: last layers, gates of residual branches, one half of a low-rank adapter.

Until the first step what lies behind them does nothing, whatever it is: nothing can be seen of it, and that is no fault of it.
"""

from __future__ import annotations

import torch
from torch import nn

_SIZE = 0.02
"""Standard deviation that they are given: that of a weight of GPT-2."""
_MOST = 0.5
"""Share of all weights from which zeros are no part of a model that is put to sleep, but the whole of one that is dead."""


def awake(model: nn.Module) -> None:
    """Gives every parameter that is zero throughout small random values, in place; the same each time, whatever the random numbers are."""
    dormant = [parameter for parameter in model.parameters() if parameter.numel() and not bool(parameter.detach().any())]
    if sum(parameter.numel() for parameter in dormant) > _MOST * sum(parameter.numel() for parameter in model.parameters()):
        return
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in dormant:
            parameter.copy_(_SIZE * torch.randn(parameter.shape, generator=generator))
