"""A training loop, watched for two steps that change nothing: what it leaves in the gradients, what it clips, and in which mode it runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.utils import clip_grad
from torch.optim import Optimizer

from sismo.errors import UsageError
from sismo.probes import step
from sismo.probes.untouched import random_state, set_random_state

Loop = Callable[[nn.Module, Any, Optimizer], Any]
"""``loop(model, batch, optimizer)`` takes one step as the training loop does: loss, backward, clipping, update, zero_grad."""


class Watched(NamedTuple):
    """What two steps on one batch were seen to do.

    Attributes:
        piled: gradient of the second step over the first. trains: whether the steps were in training mode.
        scaled: gradient at the first step after its clip over that which the optimizer gets, more than 1 where it is divided in between.
        clipped: norm of the gradient that came to that clip. Both are NaN without a clip.
    """

    piled: float
    scaled: float
    clipped: float
    trains: bool


def watch(model: nn.Module, batch: Any, optimizer: Optimizer, loop: Loop) -> Watched:
    """Runs the loop twice with the same random numbers; every update is taken back at once.

    What no optimizer holds is cleared by none, and piles up without being used: only what is held counts. Raises ``UsageError`` when the
    loop fails or takes no step.
    """
    held = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    before = [parameter.detach().clone() for parameter in held]
    steps, modes, clips = list[float](), list[bool](), list[tuple[float, float]]()
    clipped: list[tuple[float, float]] = []
    random = random_state()

    def look(*_: Any) -> None:
        # An optimizer that divides by the loss scale itself is given it by the scaler.
        scale = getattr(optimizer, "grad_scale", None)
        steps.append(step.norm_of(held) / (1.0 if scale is None else float(scale)))
        modes.append(model.training)
        if len(steps) == 1 and clips:
            clipped.append(clips[-1])

    def undo(*_: Any) -> None:
        with torch.no_grad():
            for parameter, value in zip(held, before, strict=True):
                parameter.copy_(value)

    handles = [optimizer.register_step_pre_hook(look), optimizer.register_step_post_hook(undo)]
    try:
        with _clipping(held, clips):
            for _ in range(2):
                set_random_state(random)
                loop(model, batch, optimizer)
    except Exception as error:
        raise UsageError(f"the loop failed: {step.one_line(error)}") from error
    finally:
        for handle in handles:
            handle.remove()
    if not steps:
        raise UsageError(
            "the loop took no step of the optimizer in two calls: there is nothing to look at. One that accumulates has to do so within a "
            "call, and a loss scaler must not leave the steps out"
        )
    # Clipping hides what piled up, so that where there is a clip the norm before it counts.
    first, second = ([norm for norm, _ in clips] if len(clips) >= 2 else [*steps, 0.0, 0.0])[:2]
    return Watched(
        piled=second / first if first else math.nan,
        scaled=clipped[0][1] / steps[0] if clipped and steps[0] else math.nan,
        clipped=clipped[0][0] if clipped else math.nan,
        trains=all(modes),
    )


@contextmanager
def _clipping(held: list[Tensor], noted: list[tuple[float, float]]) -> Iterator[None]:
    """Notes the norm of the gradients before and after every clip; loops have imported ``clip_grad_norm_`` itself long ago."""
    original = clip_grad._clip_grads_with_norm_

    def clip(*arguments: Any, **options: Any) -> Any:
        before = step.norm_of(held)
        result = original(*arguments, **options)
        noted.append((before, step.norm_of(held)))
        return result

    clip_grad._clip_grads_with_norm_ = clip
    try:
        yield
    finally:
        clip_grad._clip_grads_with_norm_ = original
