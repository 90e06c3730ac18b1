"""A small convolutional net: three blocks of convolution, batch norm and ReLU, a mean over the picture, a linear head."""

from __future__ import annotations

from itertools import pairwise

from torch import Tensor, nn

from sismo.lab.types import Settings

CHANNELS = (1, 12, 24, 32)
CLASSES = 10


class Block(nn.Module):
    """Convolution, batch norm, ReLU; it halves the picture."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, 3, stride=2, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(outputs)
        self.act = nn.ReLU()

    def forward(self, x: Tensor) -> Tensor:
        return self.act(self.norm(self.conv(x)))


class ConvNet(nn.Module):
    """Pictures (rows, 1, 16, 16) to logits (rows, 10)."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        pairs = pairwise(CHANNELS)
        self.blocks = nn.ModuleList(Block(inputs, outputs) for inputs, outputs in pairs)
        self.dropout = nn.Dropout(settings.dropout)
        self.head = nn.Linear(CHANNELS[-1], CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            x = block(x)
        return self.head(self.dropout(x.mean((2, 3))))
