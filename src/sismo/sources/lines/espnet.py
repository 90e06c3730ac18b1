"""ESPnet2: ``2epoch:train:1-100batch: loss=130.2, grad_norm=10.2`` and ``2epoch results: [train] loss=105.1, [valid] loss=99.8``."""

from __future__ import annotations

import re

from sismo.sources.line import Line, TextLog
from sismo.sources.numbers import NUMBER, number

_BATCH = re.compile(r"\b(\d+)epoch:train:\d+-(\d+)batch:\s*(.*)")
_RESULTS = re.compile(r"\b(\d+)epoch results:\s*\[train\](.*?)(?:\[valid\](.*?))?(?:\[\w+\].*)?$")
_PAIR = re.compile(rf"([\w.-]+)=({NUMBER})")


def read(line: str, log: TextLog) -> bool:
    found = _BATCH.search(line)
    if found:
        log.add({"epoch": float(found[1]), "batch": float(found[2])} | _values(found[3]))
        return True
    found = _RESULTS.search(line)
    if found:
        means = {f"{key}_epoch": value for key, value in _values(found[2]).items() if key == "loss"}
        log.add({"epoch": float(found[1])} | means | {f"valid/{key}": value for key, value in _values(found[3] or "").items()})
    return found is not None


def _values(text: str) -> dict[str, float]:
    return {key: value for key, written in _PAIR.findall(text) if (value := number(written)) is not None}


LINE = Line("espnet", "2epoch:train:1-100batch: iter_time=0.101, loss_ctc=120.1, loss=130.2, grad_norm=10.2, optim0_lr0=1.0e-06",
            ("epoch:train:", "epoch results:"), 20, read)  # fmt: skip
