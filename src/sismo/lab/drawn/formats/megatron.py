"""Standard output of Megatron-LM: one ``iteration N/ M | …`` line, with the loss scale and the skipped iterations."""

from __future__ import annotations

import math
from collections.abc import Iterator

from sismo.lab.drawn.table import rows
from sismo.lab.drawn.types import LogFormat
from sismo.records.types import Run


def _lines(run: Run) -> Iterator[str]:
    table = [(step, row) for step, row in rows(run)]
    total = run.header.total_steps or table[-1][0]
    for step, row in table:
        if "loss/train" in row:
            yield _iteration(step, total, row)
        if "loss/val" in row:
            value = row["loss/val"]
            yield f" validation loss at iteration {step} | lm loss value: {value:.6E} | lm loss PPL: {_exp(value):.6E} | "


def _iteration(step: int, total: int, row: dict[str, float]) -> str:
    skipped = not math.isfinite(row.get("grad_norm/pre", 0.0)) and "loss_scale" in row
    parts = [f" iteration {step:8d}/{total:8d}", f"consumed samples: {step * 256:12d}", "elapsed time per iteration (ms): 512.3"]
    if "lr/0" in row:
        parts.append(f"learning rate: {row['lr/0']:.3E}")
    parts += ["global batch size:   256", f"lm loss: {row['loss/train']:.6E}"]
    if "loss_scale" in row:
        parts.append(f"loss scale: {row['loss_scale']:.1f}")
    if "grad_norm/pre" in row:
        parts.append(f"grad norm: {row['grad_norm/pre']:.3f}")
    nans = int(math.isnan(row["loss/train"]))
    return " | ".join([*parts, f"number of skipped iterations: {int(skipped):3d}", f"number of nan iterations: {nans:3d} |"])


def _exp(value: float) -> float:
    return math.exp(min(value, 700.0)) if math.isfinite(value) else value


FORMAT = LogFormat("megatron", ".out", frozenset({"loss", "lr", "grad_norm", "loss_scale"}), _lines)
