"""darknet: ``100: 18.2, 18.1 avg, 0.001 rate, 3.1 seconds, 6400 images``, and the lines of its layers, whose IOU may be ``-nan``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import cast

from sismo.sources.cells import Cell, group_cell
from sismo.sources.line import Line, TextLog
from sismo.sources.numbers import NUMBER

_STEP = re.compile(rf"^\s*(\d+):\s*({NUMBER}),\s*({NUMBER}) avg(?: loss)?,\s*({NUMBER}) rate")
_ROUNDED = re.compile(r"-?0*\.?0*")
"""A rate that is printed as 0: a burn-in begins at 1e-12 of it, and six decimals are all that is printed."""
_REGION = re.compile(r"\bAvg IOU:\s*(-?nan\b)?.*?\bcount:\s*(\d+)", re.IGNORECASE)
_LAYER = re.compile(rf"\bRegion (\d+) Avg \(IOU:.*?, class_loss = ({NUMBER}), iou_loss = ({NUMBER}), total_loss = ({NUMBER})")
_TAG = "nonfinite-iou"
_BOXES, _NONE, _LAYERS = "darknet-boxes", "darknet-none", "darknet-layers"
_KEPT = 1000


def cells(line: str) -> Sequence[Cell]:
    found = _STEP.match(line)
    names = ("iter", "loss", "avg loss ema", "learning rate")
    if found is None:
        return ()
    known = names[:-1] if _ROUNDED.fullmatch(found[len(names)]) else names
    return [cell for group, name in enumerate(known, 1) for cell in group_cell(name, found, group)]


def read(line: str, log: TextLog) -> bool:
    """What one layer makes of one batch, before the loss of the iteration.

    A mean over the boxes of one layer: over none it is NaN, which says something only where no layer ever has a box.
    """
    if (layer := _LAYER.search(line)) is not None:
        seen = cast("list[tuple[str, ...]]", log.memo.setdefault(_LAYERS, []))
        if not seen or (layer[1] == seen[0][0] and len(seen) < _KEPT):
            seen.append(layer.groups())
        return True
    found = _REGION.search(line)
    if found is None:
        return False
    boxes = int(found[2])
    if boxes:
        log.memo[_BOXES] = True
    if found[1] and (boxes or _BOXES not in log.memo):
        log.mark("warning", tag=_TAG, line=line.strip()[:200], **({} if boxes else {_NONE: True}))
    return True


def finish(log: TextLog) -> None:
    if _BOXES in log.memo:
        log.rows.marks = [mark for mark in log.rows.marks if not mark.data.get(_NONE)]
    # Cut off before the first iteration is done: one layer alone is the same thing again and again.
    for _, *values in cast("list[tuple[str, ...]]", log.memo.get(_LAYERS, [])) if not log.rows.n_rows else ():
        log.add({name: float(value) for name, value in zip(("class_loss", "iou_loss", "total_loss"), values, strict=True)})


LINE = Line("darknet", "100: 18.2, 18.1 avg, 0.001000 rate, 3.1 seconds, 6400 images", (" avg", "iou:"), 20, read,
            finish=finish, cells=cells)  # fmt: skip
