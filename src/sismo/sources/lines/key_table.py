"""Stable-Baselines3 and Spinning Up: a framed table a row, ``| train/ |  |``, ``|    loss  | 20.1  |``, between two rules ``------``."""

from __future__ import annotations

import re
from typing import cast

from sismo.sources.keys import is_loss, meaning
from sismo.sources.line import Line, TextLog
from sismo.sources.numbers import number

_RULE = re.compile(r"^\s*-{10,}\s*$")
_CELL = re.compile(r"^\s*\|(\s*)([A-Za-z][\w/ .-]*?)\s*\|\s*([^|]*?)\s*\|\s*$")


def read(line: str, log: TextLog) -> bool:
    if _RULE.match(line):
        finish(log)
        log.memo["key-table"] = {}
        log.busy.add("key-table")
        return False
    table = cast("dict[str, float] | None", log.memo.get("key-table"))
    found = _CELL.match(line) if table is not None else None
    if table is None or found is None:
        log.memo.pop("key-table", None)
        log.busy.discard("key-table")
        return False
    key, text = found[2], found[3]
    if key.endswith("/") and not text:
        log.memo["key-table-section"] = key
        return True
    section = cast("str", log.memo.get("key-table-section", "")) if len(found[1]) > 1 else ""
    if (value := number(text)) is not None:
        table[f"{section}{key}"] = value
    return True


def finish(log: TextLog) -> None:
    """Ends the table that is open; one without a loss or a counter is another kind of table."""
    table = cast("dict[str, float]", log.memo.pop("key-table", {}))
    log.memo.pop("key-table-section", None)
    if any(is_loss(key) for key in table) and any(meaning(key).role in ("step", "epoch") for key in table):
        log.add(table)


LINE = Line(
    "key-table",
    "------------ then | time/ | | then |    iterations | 3 | then | train/ | | then |    loss | 20.1 | then ------------",
    ("----", "|"),
    14,
    read,
    finish=finish,
)
