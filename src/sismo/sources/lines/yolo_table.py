"""YOLOv5 and Ultralytics on the terminal: a heading ``Epoch GPU_mem box_loss cls_loss ..`` and a row of running means per epoch."""

from __future__ import annotations

import re
from typing import cast

from sismo.sources.line import Line, TextLog
from sismo.sources.numbers import number

_HEADING = re.compile(r"^\s*Epoch\s+gpu_mem\s+(.*\S)\s*$", re.IGNORECASE)
_ROW = re.compile(r"^\s*(\d+)/(\d+)\s+[\d.]+[GM]?B?\s+([^:|]+):\s*100%")
_LOSSES = frozenset({"box", "obj", "cls", "dfl", "seg", "pose", "kobj", "total", "rle", "angle"})


def read(line: str, log: TextLog) -> bool | None:
    heading = _HEADING.match(line)
    if heading:
        log.memo["yolo-table"] = heading[1].split()
        return True
    names = cast("list[str] | None", log.memo.get("yolo-table"))
    found = _ROW.match(line)
    if names is None or found is None:
        return False if found is None else None
    row = {"epoch": float(found[1])}
    for name, cell in zip(names, found[3].split(), strict=False):
        value = number(cell)
        bare = name.lower().removesuffix("_loss")
        if value is not None:
            row[f"train/{bare}_loss" if bare in _LOSSES else name] = value
    # The bar is drawn full more than once; what an epoch shows last is its mean.
    if log.memo.get("yolo-row") != row:
        log.memo["yolo-row"] = row
        log.add(row)
    return True


LINE = Line(
    "yolo-table",
    "  Epoch  GPU_mem  box_loss  cls_loss then  1/100  2.2G  1.325  3.12: 100%|##| 20/20 [00:05<00:00]",
    ("mem", "%|"),
    12,
    read,
)
