"""What a user's own ``build()`` looks like, and what it looks like when it is wrong."""

from __future__ import annotations

from typing import Any

import torch
from recorder import loops
from torch import Tensor, nn


def build() -> tuple[nn.Module, Any, torch.optim.Optimizer]:
    """A model, its loss, its optimizer."""
    model, optimizer = loops.build()
    return model, loops.loss_of, optimizer


def naive() -> tuple[nn.Module, Any]:
    """A loss that takes the log of a probability that may be 0."""
    model, _ = loops.build()

    def loss(model: nn.Module, batch: Tensor) -> Tensor:
        logits = 1e4 * model(batch[:, :-1])
        return -logits.softmax(-1).log().gather(-1, batch[:, 1:, None]).mean()

    return model, loss


def raises() -> None:
    """An entry point that fails."""
    raise RuntimeError("no data here")


def nothing() -> int:
    """An entry point that returns something else."""
    return 1
