"""Keras: ``Epoch 3/10`` and ``12/12 [=====] - 1s 5ms/step - loss: 0.3 - val_loss: 0.4``; only the end of an epoch is a result."""

from __future__ import annotations

import re

from sismo.sources.cells import Parsed, group_cell
from sismo.sources.line import Line, TextLog
from sismo.sources.pairs import find_cells

_PROGRESS = re.compile(r"\s*(\d+)/(\d+)\s*(?:(\[[=>.\s]*\])|[━╺╸─\s]{3,})?\s*-?\s*(?:ETA:[^-]*-|[\d:]+m?s\b[^-]*-)(.*\bloss\b.*)$")
_COUNT, _TOTAL = "@count", "@total"


def parse(line: str) -> Parsed | None:
    # Older versions redraw with backspaces; what counts is what was drawn last.
    found = _PROGRESS.match(line, line.rfind("\b") + 1)
    if found is None:
        return None
    values = [cell for cell, _ in find_cells(line, found.start(4))]
    bar = (found.start(3) + 1, found.end(3) - 1) if found[3] else None
    return Parsed([*group_cell(_COUNT, found, 1), *group_cell(_TOTAL, found, 2), *values], drawn=bar)


def settle(row: dict[str, float], _: str, log: TextLog) -> None:
    count, total = row.pop(_COUNT), row.pop(_TOTAL)
    if count >= total and row:  # old versions count past the end: "52/51"
        # The bar is drawn full once before validation and once after it: the later one says more.
        if log.epoch is not None:
            row["epoch"] = log.epoch
        log.add(row)


LINE = Line("keras", "12/12 [==============================] - 1s 5ms/step - loss: 0.3001 - val_loss: 0.4002", ("loss:",), 15,
            parse=parse, settle=settle)  # fmt: skip
