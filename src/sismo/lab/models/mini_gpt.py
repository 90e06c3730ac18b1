"""MiniGPT: a decoder-only transformer of 103,040 parameters. Shapes: B rows, L places, W width, H heads, V words.

Two blocks of width 64 with four heads, an MLP of 128, context 64, a vocabulary of 512, no biases in the matrices, and the head tied to the
embedding (Radford et al. 2019; the sizes are those of the reference model that the project's thresholds were measured on).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

from sismo.lab.types import Settings

VOCABULARY, CONTEXT, WIDTH, HEADS, HIDDEN, BLOCKS = 512, 64, 64, 4, 128, 2

Mask = Callable[[int], Tensor]


def causal(length: int) -> Tensor:
    """Each place sees itself and what came before: (L, L), true where it may look."""
    return torch.ones(length, length, dtype=torch.bool).tril()


class Attention(nn.Module):
    """Multi-head self-attention."""

    mask: Tensor

    def __init__(self, dropout: float, mask: Mask) -> None:
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.out = nn.Linear(WIDTH, WIDTH, bias=False)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", mask(CONTEXT), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        rows, length, _ = x.shape
        q, k, v = self.qkv(x).view(rows, length, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)  # each (B, H, L, W / H)
        seen = functional.scaled_dot_product_attention(q, k, v, attn_mask=self.mask[:length, :length])
        return self.dropout(self.out(seen.transpose(1, 2).reshape(rows, length, WIDTH)))


class MLP(nn.Module):
    """Two matrices round a GELU."""

    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.up = nn.Linear(WIDTH, HIDDEN, bias=False)
        self.act = nn.GELU()
        self.down = nn.Linear(HIDDEN, WIDTH, bias=False)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        return self.dropout(self.down(self.act(self.up(x))))


class Block(nn.Module):
    """Attention and MLP, each added to the residual stream: normalised before (pre-LN) or after the sum (post-LN)."""

    def __init__(self, settings: Settings, mask: Mask) -> None:
        super().__init__()
        self.pre = settings.norm == "pre"
        self.norm1, self.attention = nn.LayerNorm(WIDTH), Attention(settings.dropout, mask)
        self.norm2, self.mlp = nn.LayerNorm(WIDTH), MLP(settings.dropout)

    def forward(self, x: Tensor) -> Tensor:
        if self.pre:
            x = x + self.attention(self.norm1(x))
            return x + self.mlp(self.norm2(x))
        x = self.norm1(x + self.attention(x))
        return self.norm2(x + self.mlp(x))


class MiniGPT(nn.Module):
    """Tokens (B, L) to logits (B, L, V)."""

    def __init__(self, settings: Settings, mask: Mask = causal) -> None:
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, WIDTH)
        self.places = nn.Embedding(CONTEXT, WIDTH)
        self.dropout = nn.Dropout(settings.dropout)
        self.blocks = nn.ModuleList(Block(settings, mask) for _ in range(BLOCKS))
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)
        self.head.weight = self.tokens.weight
        initialise(self, settings.init)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.tokens(tokens) + self.places(torch.arange(tokens.shape[1], device=tokens.device))
        x = self.dropout(x)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def initialise(model: MiniGPT, kind: str) -> None:
    """Fills the matrices: ``gpt2`` N(0, 0.02), what is added to the residual stream less; ``xavier`` normal; ``torch`` as built."""
    for name, parameter in model.named_parameters():
        if parameter.ndim != 2:
            continue
        if kind == "gpt2":
            residual = name.endswith(("out.weight", "down.weight"))
            nn.init.normal_(parameter, std=0.02 / (math.sqrt(2 * BLOCKS) if residual else 1))
        elif kind == "xavier":
            nn.init.xavier_normal_(parameter)
