"""The setup of an ordinary loop, which faults and healthy kinds start from."""

from __future__ import annotations

from collections.abc import Callable

from torch import nn

from sismo.lab import parts
from sismo.lab.types import Data, Settings, Setup


def ordinary(settings: Settings, *, data: Callable[[Settings], Data], model: Callable[[Settings], nn.Module]) -> Setup:
    """A model that learns a data set with AdamW, warmup and cosine, clipping, and nothing wrong."""
    return Setup(
        settings=settings,
        data=data,
        model=model,
        optimizer=parts.adamw,
        scaler=parts.scaler,
        batch=parts.epochs,
        rate=parts.warmup_cosine,
        loss=parts.cross_entropy,
        zero=parts.zero,
        backward=parts.backward,
        clip=parts.clip,
        apply=parts.apply,
        before=parts.nothing,
        evaluate=parts.evaluate,
        restore=parts.restore,
    )
