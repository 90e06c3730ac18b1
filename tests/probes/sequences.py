"""Sequence models of many kinds, some of which let the future in: each names the module that does."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

WIDTH, VOCABULARY, LENGTH = 16, 23, 12
Mask = Callable[[int], Tensor]


class Attention(nn.Module):
    """One head with a mask of its own making: True where a query sees a key."""

    def __init__(self, mask: Mask, bias: float = -math.inf, scale: float = 1.0) -> None:
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(3))
        self.mask, self.bias, self.scale = mask, bias, scale

    def forward(self, x: Tensor, seen: Tensor | None = None) -> Tensor:
        mask = self.mask(x.shape[1])
        if seen is not None:
            mask = mask & seen[:, None, :]
        scores = self.scale * self.q(x) @ self.k(x).mT / WIDTH**0.5
        return scores.masked_fill(~mask, self.bias).softmax(-1).nan_to_num(0.0) @ self.v(x)


class Cached(nn.Module):
    """Attention in chunks of 4 with a cache of keys and values; a sound one knows how far it is."""

    def __init__(self, *, sound: bool) -> None:
        super().__init__()
        self.q, self.k, self.v, self.sound = *(nn.Linear(WIDTH, WIDTH) for _ in range(3)), sound

    def forward(self, x: Tensor) -> Tensor:
        keys, values, made = x.new_zeros(x.shape[0], 0, WIDTH), x.new_zeros(x.shape[0], 0, WIDTH), []
        for chunk in x.split(4, 1):
            before, size = keys.shape[1], chunk.shape[1]
            keys, values = torch.cat([keys, self.k(chunk)], 1), torch.cat([values, self.v(chunk)], 1)
            mask = torch.ones(size, before + size, dtype=torch.bool).tril(before if self.sound else before + size)
            made.append(functional.scaled_dot_product_attention(self.q(chunk), keys, values, attn_mask=mask))
        return torch.cat(made, 1)


class Convolution(nn.Module):
    """Over time, padded to the left (causal) or on both sides."""

    def __init__(self, *, causal: bool) -> None:
        super().__init__()
        self.conv, self.causal = nn.Conv1d(WIDTH, WIDTH, 3, padding=0 if causal else 1), causal

    def forward(self, x: Tensor) -> Tensor:
        x = x.mT
        return self.conv(functional.pad(x, (2, 0)) if self.causal else x).mT


class Chomped(nn.Module):
    """Padded on both sides and cut off at the end, as temporal convolution networks do it."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv1d(WIDTH, WIDTH, 3, padding=2)

    def forward(self, x: Tensor) -> Tensor:
        return self.conv(x.mT)[..., :-2].mT


class Recurrent(nn.Module):
    """An LSTM, one way or both."""

    def __init__(self, *, both: bool) -> None:
        super().__init__()
        self.rnn = nn.LSTM(WIDTH, WIDTH // 2 if both else WIDTH, batch_first=True, bidirectional=both)

    def forward(self, x: Tensor) -> Tensor:
        return self.rnn(x)[0]


class OverTime(nn.Module):
    """A norm along the wrong axis."""

    def forward(self, x: Tensor) -> Tensor:
        return (x - x.mean(1, keepdim=True)) / (x.std(1, keepdim=True) + 1e-5)


class Shift(nn.Module):
    """Mixes each position with its neighbour: the one before, or by mistake the one after."""

    def __init__(self, by: int) -> None:
        super().__init__()
        self.by = by

    def forward(self, x: Tensor) -> Tensor:
        moved = torch.roll(x, self.by, 1)
        moved[:, 0 if self.by > 0 else -1] = 0
        return x + moved


class ExpertChoice(nn.Module):
    """Routing in which each expert picks its tokens out of the whole sequence."""

    def __init__(self) -> None:
        super().__init__()
        self.gate, self.expert = nn.Linear(WIDTH, 1), nn.Linear(WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        score = self.gate(x)[..., 0]
        chosen = score >= score.topk(x.shape[1] // 2, 1).values[:, -1:]
        return x + chosen[..., None] * self.expert(x)


class Model(nn.Module):
    """Embedding, one mixing layer among others, head."""

    def __init__(self, mixer: nn.Module, *, padded: bool = False) -> None:
        super().__init__()
        self.embed, self.position = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(64, WIDTH)
        self.first, self.mixer = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.GELU()), mixer
        self.norm, self.head, self.padded = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY), padded

    def forward(self, tokens: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        x = self.embed(tokens) + self.position(torch.arange(tokens.shape[1]))
        x = self.first(x)
        x = x + (self.mixer(x, attention_mask) if self.padded else self.mixer(x))
        return self.head(self.norm(x))


def tril(length: int) -> Tensor:
    return torch.ones(length, length, dtype=torch.bool).tril()


def ones(length: int) -> Tensor:
    return torch.ones(length, length, dtype=torch.bool)


def window(ahead: int) -> Mask:
    return lambda length: tril(length).triu(-3) if not ahead else ones(length).triu(-3).tril(ahead)


def prefix(visible: int) -> Mask:
    return lambda length: tril(length) | ((torch.arange(length) < visible)[:, None] & (torch.arange(length) < visible))


def chunks(size: int) -> Mask:
    return lambda length: (torch.arange(length)[:, None] // size) == (torch.arange(length) // size)


class Sequence(NamedTuple):
    """``order`` is what the probe has to say, ``module`` whom it has to blame."""

    make: Callable[[], nn.Module]
    order: str
    module: str = ""
    visible: int = 0
    batch: Callable[[], Any] = lambda: tokens()


def tokens(length: int = LENGTH) -> Tensor:
    return torch.randint(0, VOCABULARY, (2, length), generator=torch.Generator().manual_seed(1))


def padded() -> dict[str, Tensor]:
    seen = torch.ones(2, LENGTH, dtype=torch.bool)
    seen[0, 9:], seen[1, :3] = False, False
    return {"tokens": tokens(), "attention_mask": seen}


ARCHITECTURES: Mapping[str, Sequence] = {
    "causal attention": Sequence(lambda: Model(Attention(tril)), "causal"),
    "padded on either side": Sequence(lambda: Model(Attention(tril), padded=True), "causal", batch=padded),
    "sliding window": Sequence(lambda: Model(Attention(window(0))), "causal"),
    "large finite bias": Sequence(lambda: Model(Attention(tril, bias=-1e4)), "causal"),
    "recurrent": Sequence(lambda: Model(Recurrent(both=False)), "causal"),
    "causal convolution": Sequence(lambda: Model(Convolution(causal=True)), "causal"),
    "chomped convolution": Sequence(lambda: Model(Chomped()), "causal"),
    "cache of keys": Sequence(lambda: Model(Cached(sound=True)), "causal"),
    "token shift": Sequence(lambda: Model(Shift(1)), "causal"),
    "no mixing": Sequence(lambda: Model(nn.Identity()), "causal"),
    "long causal": Sequence(lambda: Model(Attention(tril)), "causal", batch=lambda: tokens(50)),
    "prefix-LM": Sequence(lambda: Model(Attention(prefix(5))), "prefix", visible=5),
    "mask of ones": Sequence(lambda: Model(Attention(ones)), "leaks", "mixer"),
    "mask of ones, padded": Sequence(lambda: Model(Attention(ones), padded=True), "leaks", "mixer", batch=padded),
    "window one too far": Sequence(lambda: Model(Attention(window(1))), "leaks", "mixer"),
    "bias beaten by logits": Sequence(lambda: Model(Attention(tril, bias=-30.0, scale=100.0)), "leaks", "mixer"),
    "small finite bias": Sequence(lambda: Model(Attention(tril, bias=-20.0)), "leaks", "mixer"),
    "sees its chunk": Sequence(lambda: Model(Attention(chunks(4))), "leaks", "mixer"),
    "recurrent both ways": Sequence(lambda: Model(Recurrent(both=True)), "leaks", "mixer.rnn"),
    "centred convolution": Sequence(lambda: Model(Convolution(causal=False)), "leaks", "mixer.conv"),
    "cache with a wrong offset": Sequence(lambda: Model(Cached(sound=False)), "leaks", "mixer"),
    "norm over time": Sequence(lambda: Model(OverTime()), "leaks", "mixer"),
    "shift the wrong way": Sequence(lambda: Model(Shift(-1)), "leaks", "mixer"),
    "experts choose tokens": Sequence(lambda: Model(ExpertChoice()), "leaks", "mixer"),
    "long, mask of ones": Sequence(lambda: Model(Attention(ones)), "leaks", "mixer", batch=lambda: tokens(50)),
}
