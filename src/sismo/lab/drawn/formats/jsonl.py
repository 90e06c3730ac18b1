"""JSON lines, one object a row; NaN and Infinity stand bare, as Python's json writes them."""

from __future__ import annotations

import json
from collections.abc import Iterator

from sismo.lab.drawn.table import rows
from sismo.lab.drawn.types import LogFormat
from sismo.records.types import Run

_KEYS = {"loss/train": "loss", "loss/val": "val_loss", "lr/0": "lr", "grad_norm/pre": "grad_norm", "loss_scale": "loss_scale"}


def _lines(run: Run) -> Iterator[str]:
    for step, row in rows(run):
        yield json.dumps({"step": step, **{_KEYS.get(channel, channel): value for channel, value in row.items()}})


FORMAT = LogFormat("jsonl", ".jsonl", frozenset({"loss", "loss_term", "lr", "grad_norm", "loss_scale"}), _lines)
