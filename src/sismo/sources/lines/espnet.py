"""ESPnet2: ``2epoch:train:1-100batch: loss=130.2, grad_norm=10.2`` and ``2epoch results: [train] loss=105.1, [valid] loss=99.8``."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sismo.sources.cells import Cell, cells_by, group_cell
from sismo.sources.line import Line
from sismo.sources.numbers import NUMBER

_BATCH = re.compile(r"\b(\d+)epoch:train:\d+-(\d+)batch:\s*(.*)")
_RESULTS = re.compile(r"\b(\d+)epoch results:\s*\[train\](.*?)(?:\[valid\](.*?))?(?:\[\w+\].*)?$")
_PAIR = re.compile(rf"([\w.-]+)=({NUMBER})")


def cells(line: str) -> Sequence[Cell]:
    found = _BATCH.search(line)
    if found:
        return [*group_cell("epoch", found, 1), *group_cell("batch", found, 2), *cells_by(_PAIR, line, found.start(3))]
    found = _RESULTS.search(line)
    if found is None:
        return ()
    means = [cell._replace(key=f"{cell.key}_epoch") for cell in cells_by(_PAIR, line, *found.span(2)) if cell.key == "loss"]
    valid = cells_by(_PAIR, line, *found.span(3), "valid/") if found[3] else ()
    return [*group_cell("epoch", found, 1), *means, *valid]


LINE = Line("espnet", "2epoch:train:1-100batch: iter_time=0.101, loss_ctc=120.1, loss=130.2, grad_norm=10.2, optim0_lr0=1.0e-06",
            ("epoch:train:", "epoch results:"), 20, cells=cells)  # fmt: skip
