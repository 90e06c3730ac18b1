"""A small transformer, written as people write them, and one training loop round it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

VOCABULARY, WIDTH, HEADS, LENGTH = 97, 32, 4, 16


class Attention(nn.Module):
    """Causal attention through ``scaled_dot_product_attention``."""

    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.dropout = dropout

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        q, k, v = (part.view(batch, length, HEADS, -1).transpose(1, 2) for part in self.qkv(x).chunk(3, -1))
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=self.dropout if self.training else 0.0)
        return self.out(mixed.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    """One block, pre-norm."""

    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.ln1, self.attn, self.ln2 = nn.LayerNorm(WIDTH), Attention(dropout), nn.LayerNorm(WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH), nn.Dropout(dropout))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attn(self.ln1(x))
        return x + self.mlp(self.ln2(x))


class Model(nn.Module):
    """Embedding, blocks, norm, head."""

    def __init__(self, blocks: int = 2, dropout: float = 0.1, *, checkpointing: bool = False) -> None:
        super().__init__()
        self.wte = nn.Embedding(VOCABULARY, WIDTH)
        self.blocks = nn.ModuleList(Block(dropout) for _ in range(blocks))
        self.ln_f = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)
        self.checkpointing = checkpointing

    def forward(self, tokens: Tensor) -> Tensor:
        from torch.utils.checkpoint import checkpoint

        x = self.wte(tokens)
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if self.checkpointing else block(x)
        return self.head(self.ln_f(x))


def build(seed: int = 0, **options: Any) -> tuple[Model, torch.optim.Optimizer]:
    """A model and its optimizer."""
    torch.manual_seed(seed)
    model = Model(**options)
    return model, torch.optim.AdamW(model.parameters(), 1e-3)


def loss_of(model: nn.Module, batch: Tensor) -> Tensor:
    """Next-token loss."""
    logits = model(batch[:, :-1])
    return functional.cross_entropy(logits.float().flatten(0, 1), batch[:, 1:].flatten())


def batches(steps: int, size: int = 4, seed: int = 1) -> list[Tensor]:
    """Random tokens from a generator of their own."""
    generator = torch.Generator().manual_seed(seed)
    return [torch.randint(0, VOCABULARY, (size, LENGTH + 1), generator=generator) for _ in range(steps)]


def train(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    steps: int,
    record: Callable[[Tensor], None] | None = None,
    *,
    autocast: torch.dtype | None = None,
    scaler: torch.amp.GradScaler | None = None,
    clip: float | None = 1.0,
) -> list[Tensor]:
    """A plain loop. Returns its losses."""
    losses: list[Tensor] = []
    for batch in batches(steps):
        with torch.autocast("cpu", autocast) if autocast else nullcontext():
            loss = loss_of(model, batch)
        (scaler.scale(loss) if scaler else loss).backward()
        if clip:
            if scaler:
                scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        if scaler:
            scaler.step(optimizer)
            scaler.update()
        else:
            optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.detach().clone())
        if record:
            record(loss)
    return losses


def digest(model: nn.Module, optimizer: torch.optim.Optimizer, losses: list[Tensor]) -> str:
    """A hash of every bit that training left behind: losses, weights, optimizer state, random numbers."""
    found = hashlib.sha256()
    state = [value for state in optimizer.state.values() for value in state.values()]
    for value in (*losses, *model.parameters(), *model.buffers(), *state, torch.get_rng_state()):
        tensor = value.detach().contiguous() if isinstance(value, Tensor) else torch.tensor(value)
        found.update(tensor.reshape(-1).view(torch.uint8).numpy().tobytes())
    return found.hexdigest()
