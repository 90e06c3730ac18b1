"""The models that faults are put into: a small GPT, a conv net, torch's own encoder, one of transformers. Each with a batch and a loss."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Any, NamedTuple

import pytest
import torch
from recorder.loops import Model as MiniGPT
from torch import Tensor, nn
from torch.nn import functional

Outputs = Callable[[nn.Module, Any], Tensor]
"""Rows of class scores of a batch."""


class Subject(NamedTuple):
    """``parts`` are paths of layers by their kind; ``used`` is a weight that every batch reaches."""

    make: Callable[[], nn.Module]
    batch: Callable[[], Any]
    scores: Outputs
    labels: Callable[[Any], Tensor]
    parts: Mapping[str, str]
    used: str


class ConvNet(nn.Module):
    """Two convolutions with batch norm, pooled, and a head."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm, self.act = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU()
        self.body = nn.Sequential(nn.Conv2d(8, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        self.head = nn.Linear(8, 5)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.body(self.act(self.norm(self.first(x)))).mean((2, 3)))


class Encoder(nn.Module):
    """``nn.TransformerEncoder`` with a causal mask of minus infinity, as its documentation has it."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(31, 16)
        layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.head = nn.Linear(16, 31)

    def forward(self, tokens: Tensor) -> Tensor:
        mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1])
        return self.head(self.encoder(self.embed(tokens), mask=mask, is_causal=True))


def _tokens(vocabulary: int) -> Callable[[], Tensor]:
    return lambda: torch.randint(0, vocabulary, (2, 9), generator=torch.Generator().manual_seed(3))


def _images() -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(3)
    return {"images": torch.randn(4, 3, 8, 8, generator=generator), "labels": torch.tensor([0, 1, 2, 3])}


def _next(model: nn.Module, batch: Tensor) -> Tensor:
    out = model(batch[:, :-1])
    return getattr(out, "logits", out).flatten(0, 1)


def _shifted(batch: Tensor) -> Tensor:
    return batch[:, 1:].flatten()


def _gpt2() -> nn.Module:
    transformers = pytest.importorskip("transformers")
    config = transformers.GPT2Config(vocab_size=31, n_positions=16, n_embd=16, n_layer=1, n_head=2, use_cache=False)
    return transformers.GPT2LMHeadModel(config)


_LAYER = "encoder.layers.0."
SUBJECTS = {
    "mini-gpt": Subject(
        lambda: MiniGPT(blocks=1),
        _tokens(97),
        _next,
        _shifted,
        {"embedding": "wte", "attention": "blocks.0.attn", "mlp": "blocks.0.mlp", "linear": "blocks.0.attn.out", "norm": "ln_f"},
        "blocks.0.attn.out.weight",
    ),
    "conv-net": Subject(
        ConvNet,
        _images,
        lambda model, batch: model(batch["images"]),
        lambda batch: batch["labels"],
        {"conv": "body.0", "norm": "norm", "activation": "act", "pool": "body.2", "linear": "head"},
        "body.0.weight",
    ),
    "torch-encoder": Subject(
        Encoder,
        _tokens(31),
        _next,
        _shifted,
        {"embedding": "embed", "attention": _LAYER + "self_attn", "norm": _LAYER + "norm1", "linear": _LAYER + "linear1", "head": "head"},
        _LAYER + "linear2.weight",
    ),
    "transformers": Subject(
        _gpt2,
        _tokens(31),
        _next,
        _shifted,
        {"embedding": "transformer.wte", "attention": "transformer.h.0.attn", "mlp": "transformer.h.0.mlp", "norm": "transformer.ln_f"},
        "transformer.h.0.mlp.c_fc.weight",
    ),
}  # fmt: skip


def made(name: str) -> tuple[nn.Module, Any]:
    """The model of a subject and its batch, the same each time."""
    torch.manual_seed(0)
    return SUBJECTS[name].make(), SUBJECTS[name].batch()


def loss_fn(name: str, autocast: torch.dtype | None = None) -> Callable[[nn.Module, Any], Tensor]:
    """Cross-entropy of a subject's scores, as loops write it."""
    subject = SUBJECTS[name]

    def loss(model: nn.Module, batch: Any) -> Tensor:
        with torch.autocast("cpu", autocast or torch.bfloat16, enabled=autocast is not None):
            scores = subject.scores(model, batch)
        return functional.cross_entropy(scores.float(), subject.labels(batch))

    return loss


def available(name: str) -> bool:
    """Whether the library that a subject comes from is installed."""
    return name != "transformers" or find_spec("transformers") is not None
