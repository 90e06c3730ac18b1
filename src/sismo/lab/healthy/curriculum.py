"""A curriculum."""

from __future__ import annotations

from dataclasses import replace

from sismo.lab import parts
from sismo.lab.types import IGNORE, Batch, Data, Healthy, Settings


def _batch(settings: Settings, data: Data, number: int) -> Batch:
    """Short sentences in the first third of the run, all of them afterwards."""
    if number >= settings.total_steps * settings.accumulation // 3:
        return parts.epochs(settings, data, number)
    lengths = (data.train.targets != IGNORE).sum(-1)
    return parts.epochs(settings, data._replace(train=data.train.rows((lengths <= lengths.median()).nonzero()[:, 0])), number)


HEALTHY = Healthy(
    id="curriculum",
    title="The easy half of the data comes first; the loss rises when the hard half joins.",
    change=lambda setup: replace(setup, batch=_batch),
    tasks=("mini-gpt",),
    allows=("by-design",),
)
