"""Keras: ``Epoch 3/10`` and ``12/12 [=====] - 1s 5ms/step - loss: 0.3 - val_loss: 0.4``; only the end of an epoch is a result."""

from __future__ import annotations

import re

from sismo.sources.line import Line, TextLog
from sismo.sources.pairs import quick_pairs

_PROGRESS = re.compile(r"^\s*(\d+)/(\d+)\s*(?:\[[=>.\s]*\]|[━╺╸─\s]{3,})?\s*-?\s*(?:ETA:[^-]*-|[\d:]+m?s\b[^-]*-)(.*\bloss\b.*)$")


def read(line: str, log: TextLog) -> bool:
    # Older versions redraw with backspaces; what counts is what was drawn last.
    text = line.rsplit("\b", 1)[-1]
    found = _PROGRESS.match(text)
    if not found:
        return False
    if found[1] == found[2]:
        values = dict(quick_pairs(found[3]))
        if values:
            # The bar is drawn full once before validation and once after it: the later one says more.
            if log.epoch is not None:
                values["epoch"] = log.epoch
            log.add(values)
    return True


LINE = Line("keras", "12/12 [==============================] - 1s 5ms/step - loss: 0.3001 - val_loss: 0.4002", ("loss:",), 15, read)
