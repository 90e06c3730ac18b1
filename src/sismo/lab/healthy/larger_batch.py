"""A batch size that grows."""

from __future__ import annotations

from dataclasses import replace

from sismo.lab import parts
from sismo.lab.types import Batch, Data, Healthy, Settings


def _batch(settings: Settings, data: Data, number: int) -> Batch:
    late = number >= settings.total_steps * settings.accumulation // 2
    return parts.epochs(replace(settings, batch=4 * settings.batch) if late else settings, data, number)


HEALTHY = Healthy(
    id="larger-batch",
    title="From the middle on batches are four times larger.",
    change=lambda setup: replace(setup, batch=_batch),
    tasks=("mini-gpt", "conv-net", "mlp"),
)
