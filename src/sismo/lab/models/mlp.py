"""A small multi-layer perceptron: two hidden layers of ReLU, a linear head."""

from __future__ import annotations

from torch import Tensor, nn

from sismo.lab.types import Settings

COLUMNS, HIDDEN, CLASSES = 20, 64, 8


class Layer(nn.Module):
    """A matrix, ReLU and dropout."""

    def __init__(self, inputs: int, dropout: float) -> None:
        super().__init__()
        self.linear = nn.Linear(inputs, HIDDEN)
        self.act = nn.ReLU()
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        return self.dropout(self.act(self.linear(x)))


class MLP(nn.Module):
    """Tables (rows, 20) to logits (rows, 8)."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Layer(inputs, settings.dropout) for inputs in (COLUMNS, HIDDEN))
        self.head = nn.Linear(HIDDEN, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            x = block(x)
        return self.head(x)
