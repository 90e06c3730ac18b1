"""Standard output in the manner of build-nanogpt: ``step N | loss | lr | norm`` lines, validation on lines without a step."""

from __future__ import annotations

from collections.abc import Iterator

from sismo.lab.drawn.table import rows
from sismo.lab.drawn.types import LogFormat
from sismo.records.types import Run


def _lines(run: Run) -> Iterator[str]:
    yield "using device: cuda"
    yield "number of parameters: 124.34M"
    for step, row in rows(run):
        if "loss/val" in row:
            yield f"validation loss: {row['loss/val']:.4f}"
        if "loss/train" in row:
            parts = [f"step {step:5d}", f"loss: {row['loss/train']:.6f}"]
            if "lr/0" in row:
                parts.append(f"lr {row['lr/0']:.4e}")
            if "grad_norm/pre" in row:
                parts.append(f"norm: {row['grad_norm/pre']:.4f}")
            yield " | ".join([*parts, "dt: 97.31ms", "tok/sec: 168234.10"])


FORMAT = LogFormat("nanogpt", ".log", frozenset({"loss", "lr", "grad_norm"}), _lines)
