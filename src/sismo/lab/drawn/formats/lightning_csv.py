"""``metrics.csv`` of Lightning's CSVLogger: evaluation values on rows of their own, empty cells for what was not logged."""

from __future__ import annotations

from collections.abc import Iterator

from sismo.lab.drawn.table import rows
from sismo.lab.drawn.types import LogFormat
from sismo.records.types import Run

_KEYS = {"loss/train": "train_loss", "loss/val": "val_loss", "lr/0": "lr-AdamW", "grad_norm/pre": "grad_norm", "loss_scale": "loss_scale"}


def _lines(run: Run) -> Iterator[str]:
    channels = [channel for channel in run.series if channel in _KEYS]
    yield ",".join(["epoch", "step", *(_KEYS[channel] for channel in channels)])
    for step, row in rows(run):
        for wanted in (lambda channel: channel != "loss/val", lambda channel: channel == "loss/val"):
            cells = [repr(row[channel]) if channel in row and wanted(channel) else "" for channel in channels]
            if any(cells):
                yield ",".join(["0", str(step), *cells])


FORMAT = LogFormat("lightning-csv", ".csv", frozenset({"loss", "lr", "grad_norm", "loss_scale"}), _lines)
