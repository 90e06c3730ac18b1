"""The parts of an ordinary training loop, each as short as in a textbook; ``types.Setup`` says what each is given and returns."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn
from torch.amp import GradScaler
from torch.nn import functional
from torch.optim import Optimizer

from sismo.lab.types import IGNORE, Batch, Data, Loop, Settings

AUTOCAST = {"fp16": torch.float16, "bf16": torch.bfloat16}


def adamw(settings: Settings, model: nn.Module) -> Optimizer:
    """AdamW over every parameter in one group."""
    return torch.optim.AdamW(model.parameters(), lr=settings.lr, betas=settings.betas, weight_decay=settings.weight_decay)


def scaler(settings: Settings) -> GradScaler:
    """Dynamic loss scaling, at work in fp16 only."""
    return GradScaler("cpu", enabled=settings.loss_scaling and settings.dtype == "fp16")


def warmup_cosine(settings: Settings, step: int) -> float:
    """From lr / warmup up to lr in a straight line, then down a half cosine to lr_min at the last step."""
    if step < settings.warmup:
        return settings.lr * (step + 1) / settings.warmup
    share = min(1.0, (step - settings.warmup) / max(1, settings.total_steps - 1 - settings.warmup))
    return settings.lr_min + 0.5 * (settings.lr - settings.lr_min) * (1 + math.cos(math.pi * share))


def epochs(settings: Settings, data: Data, number: int) -> Batch:
    """Every row once an epoch, in an order that the seed and the epoch decide; what does not fill a batch is left out."""
    rows = len(data.train.inputs)
    size = min(settings.batch, rows)
    epoch, place = divmod(number, rows // size)
    order = torch.randperm(rows, generator=generator(settings, epoch))
    return data.train.rows(order[place * size : (place + 1) * size])


def cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    """The mean over all targets that are not ignored."""
    return functional.cross_entropy(logits.flatten(0, -2), targets.flatten(), ignore_index=IGNORE)


def naive_cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    """The same as log(softmax): a probability that is rounded to 0 gives log(0)."""
    probabilities = torch.softmax(logits.flatten(0, -2), -1)
    flat = targets.flatten()
    seen = flat != IGNORE
    return -torch.log(probabilities[seen, flat[seen]]).mean()


def zero(loop: Loop) -> None:
    """Forgets the gradients of the step before."""
    loop.optimizer.zero_grad()


def backward(loop: Loop, loss: Tensor) -> Tensor:
    """Adds the gradient of the mean over all micro-batches."""
    share = loss / loop.settings.accumulation
    loop.scaler.scale(share).backward()
    return share.detach()


def clip(loop: Loop) -> None:
    """Clips the norm of the gradient, unscaled."""
    loop.scaler.unscale_(loop.optimizer)
    nn.utils.clip_grad_norm_(loop.model.parameters(), loop.settings.clip)


def apply(loop: Loop) -> None:
    """A step of the optimizer, unless the scaler found an overflow."""
    loop.scaler.step(loop.optimizer)
    loop.scaler.update()


def nothing(loop: Loop, step: int) -> None:
    """Nothing happens."""


def evaluate(loop: Loop) -> Tensor:
    """The loss on the held-out data, with dropout off."""
    loop.model.eval()
    with torch.no_grad(), precision(loop.settings):
        loss = cross_entropy(loop.model(loop.data.val.inputs), loop.data.val.targets)
    loop.model.train()
    return loss


def restore(loop: Loop, checkpoint: Mapping[str, Any]) -> int:
    """Everything comes back: weights, optimizer, scaler, random numbers; batch and LR follow from the number of the step."""
    loop.model.load_state_dict(checkpoint["model"])
    loop.optimizer.load_state_dict(checkpoint["optimizers"][0])
    if loop.scaler.is_enabled():
        loop.scaler.load_state_dict(checkpoint["parts"]["scaler"])
    torch.set_rng_state(checkpoint["random"]["torch"])
    return checkpoint["step"] + 1


def precision(settings: Settings) -> AbstractContextManager[Any]:
    """Autocast for the dtypes that need it."""
    return torch.autocast("cpu", AUTOCAST[settings.dtype]) if settings.dtype in AUTOCAST else nullcontext()


def generator(settings: Settings, number: int) -> torch.Generator:
    """Random numbers that hang on the seed and a number and on nothing else."""
    return torch.Generator().manual_seed(settings.seed * 1_000_003 + number)
