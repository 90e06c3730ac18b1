"""Tables in text: model cards (``| Step | Training Loss | Validation Loss |``) and notebooks (``epoch  train_loss  valid_loss``)."""

from __future__ import annotations

import re
from typing import cast

from sismo.sources.keys import is_loss
from sismo.sources.line import Line, TextLog
from sismo.sources.numbers import number

_GAP = re.compile(r"\s{2,}|\t")
_NO_NAME = re.compile(r"[=:{}\[\];,]|\d\.\d|\s\d+$|^\d")
_RULE = re.compile(r"^[\s|:+=-]+$")


def read(line: str, log: TextLog) -> bool:
    names = cast("list[str] | None", log.memo.get("table"))
    cells = _cells(line)
    if names is not None:
        if _RULE.match(line):
            return True
        if len(cells) == len(names) and (row := _row(names, cells)):
            log.add(row)
            return True
        log.memo.pop("table")
        log.busy.discard("table")
    if len(cells) > 1 and any(is_loss(cell) for cell in cells) and not any(_NO_NAME.search(cell) or len(cell) > 40 for cell in cells):
        log.memo["table"] = cells
        log.busy.add("table")
        return True
    return False


def _cells(line: str) -> list[str]:
    text = line.strip()
    parts = text.strip("|").split("|") if text.startswith("|") else _GAP.split(text)
    return [part.strip() for part in parts]


def _row(names: list[str], cells: list[str]) -> dict[str, float]:
    """The numbers of a row; empty when hardly any cell is one. "No log" is how Hugging Face prints a missing loss."""
    row = {name: value for name, cell in zip(names, cells, strict=True) if (value := number(cell)) is not None}
    return row if 2 * len(row) >= len(cells) else {}


LINE = Line("table", "| Step | Training Loss | then | 500 | 2.1 |", ("|", "  ", "\t"), 88, read)
