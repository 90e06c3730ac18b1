"""Keras: ``Epoch 3/10`` and ``12/12 [=====] - 1s 5ms/step - loss: 0.3 - val_loss: 0.4``; only the end of an epoch is a result.

Where no epoch ends, the means that the bar shows on its way are all there is.
"""

from __future__ import annotations

import re
from typing import cast

from sismo.records.types import Note
from sismo.sources.cells import Parsed, group_cell
from sismo.sources.line import Line, TextLog
from sismo.sources.pairs import find_cells

_PROGRESS = re.compile(r"\s*(\d+)/(\d+)\s*(?:\[[=>.\s]*\]|[━╺╸─\s]{3,})?\s*-?\s*(?:ETA:[^-]*-|[\d:]+m?s\b[^-]*-)(.*\bloss\b.*)$")
_COUNT, _TOTAL = "@count", "@total"
_UNDERWAY = "keras-underway"
_MOST = 10_000
"""Rows on the way that are kept: an epoch that does not end may be long."""


def parse(line: str) -> Parsed | None:
    # Older versions redraw with backspaces; what counts is what was drawn last.
    found = _PROGRESS.match(line, line.rfind("\b") + 1)
    if found is None:
        return None
    values = [cell for cell, _ in find_cells(line, found.start(3))]
    return Parsed([*group_cell(_COUNT, found, 1), *group_cell(_TOTAL, found, 2), *values])


def settle(row: dict[str, float], _: str, log: TextLog) -> None:
    count, total = row.pop(_COUNT), row.pop(_TOTAL)
    if log.epoch is not None:
        row["epoch"] = log.epoch
    if count < total:
        underway = cast("list[dict[str, float]]", log.memo.setdefault(_UNDERWAY, []))
        if len(underway) < _MOST:
            underway.append({"step": count, **row})
    elif row:  # old versions count past the end: "52/51"
        # The bar is drawn full once before validation and once after it: the later one says more.
        log.add(row)


def finish(log: TextLog) -> None:
    """Adds the rows on the way where no epoch came to its end."""
    underway = cast("list[dict[str, float]]", log.memo.get(_UNDERWAY, []))
    if underway and not log.rows.n_rows:
        for row in underway:
            log.rows.add(row)
        log.rows.notes.append(Note("smoothed-loss", "{key} is a moving average, not the loss of each step", {"key": "loss"}))


LINE = Line("keras", "12/12 [==============================] - 1s 5ms/step - loss: 0.3001 - val_loss: 0.4002", ("loss:",), 15,
            parse=parse, settle=settle, finish=finish)  # fmt: skip
