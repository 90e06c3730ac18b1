"""YOLOv5 and Ultralytics on the terminal: a heading ``Epoch GPU_mem box_loss cls_loss ..`` and a row of running means per epoch."""

from __future__ import annotations

import re
from typing import cast

from sismo.sources.cells import Cell, Parsed
from sismo.sources.line import Line, TextLog
from sismo.sources.numbers import number

_HEADING = re.compile(r"^\s*Epoch\s+gpu_mem\s+(.*\S)\s*$", re.IGNORECASE)
_ROW = re.compile(r"^\s*(\d+)/(\d+)\s+[\d.]+[GM]?B?\s+([^:|]+):\s*100%")
_WORD = re.compile(r"\S+")
_LOSSES = frozenset({"box", "obj", "cls", "dfl", "seg", "pose", "kobj", "total", "rle", "angle"})
_NAMES, _LAST = "yolo-table", "yolo-row"


def parse(line: str) -> Parsed | None:
    """A row: its numbers under the places of their columns, which the heading above names."""
    found = _ROW.match(line)
    if found is None:
        return None
    words = enumerate(_WORD.finditer(line, *found.span(3)))
    return Parsed([Cell("epoch", *found.span(1)), *(Cell(f"@{at}", *word.span()) for at, word in words if number(word[0]) is not None)])


def settle(row: dict[str, float], _: str, log: TextLog) -> None:
    names = cast("dict[str, str]", log.memo.get(_NAMES, {}))
    named = {names[place]: value for place, value in row.items() if place in names}
    # The bar is drawn full more than once; what an epoch shows last is its mean.
    if named and log.memo.get(_LAST) != named:
        log.memo[_LAST] = named
        log.add(named)


def read(line: str, log: TextLog) -> bool:
    heading = _HEADING.match(line)
    if heading:
        log.repeated = line
        log.memo[_NAMES] = {"epoch": "epoch"} | {f"@{at}": _named(name) for at, name in enumerate(heading[1].split())}
    return heading is not None


def _named(name: str) -> str:
    bare = name.lower().removesuffix("_loss")
    return f"train/{bare}_loss" if bare in _LOSSES else name


LINE = Line(
    "yolo-table",
    "  Epoch  GPU_mem  box_loss  cls_loss then  1/100  2.2G  1.325  3.12: 100%|##| 20/20 [00:05<00:00]",
    ("mem", "%|"),
    12,
    read,
    parse=parse,
    settle=settle,
)
