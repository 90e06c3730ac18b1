"""Columns with one space between them, under a heading that begins with the counter: ``# step loss lr`` and ``100 2.31 0.0003``."""

from __future__ import annotations

import re
from typing import cast

from sismo.sources.keys import is_loss, meaning
from sismo.sources.line import Line, TextLog
from sismo.sources.numbers import number

_BARE = re.compile(r"[A-Za-z][\w./-]*")


def read(line: str, log: TextLog) -> bool:
    names = cast("list[str] | None", log.memo.get("columns"))
    if names is not None:
        cells = line.split()
        row = {name: value for name, cell in zip(names, cells, strict=False) if (value := number(cell)) is not None}
        if len(cells) == len(names) == len(row):
            log.add(row)
            return True
        del log.memo["columns"]
        log.busy.discard("columns")
    first, _, _ = line.lstrip("# ").partition(" ")
    if meaning(first).role not in ("step", "epoch", "batch"):
        return False
    words = line.lstrip("# ").split(" ")
    if all(_BARE.fullmatch(word) for word in words) and any(is_loss(word) for word in words):
        log.memo["columns"] = words
        log.busy.add("columns")
        return True
    return False


LINE = Line("columns", "# step loss lr then 100 2.31 0.0003", (" ",), 89, read)
