"""Columns with one space between them, under a heading that begins with the counter: ``# step loss lr`` and ``100 2.31 0.0003``.

Early fastai puts how long the epoch took behind them, ``(00:13)``, in a column that has no name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sismo.sources.cells import Cell
from sismo.sources.keys import is_loss, meaning
from sismo.sources.line import Line, TextLog
from sismo.sources.numbers import number

_BARE = re.compile(r"[A-Za-z][\w./-]*")
_WORD = re.compile(r"\S+")
_TOOK = re.compile(r"\((?:\d+:)+\d+\)\s*")


def under(line: str, names: Sequence[str]) -> Sequence[Cell]:
    words = [found.span() for found in _WORD.finditer(line)]
    if len(words) == len(names) + 1 and _TOOK.fullmatch(line, words[-1][0]):
        words.pop()
    if len(words) != len(names) or any(number(line[start:end]) is None for start, end in words):
        return ()
    return [Cell(name, start, end) for name, (start, end) in zip(names, words, strict=True)]


def read(line: str, log: TextLog) -> bool:
    log.close_heading("columns")
    first, _, _ = line.lstrip("# ").partition(" ")
    if meaning(first).role not in ("step", "epoch", "batch"):
        return False
    words = line.lstrip("# ").split(" ")
    if all(_BARE.fullmatch(word) for word in words) and any(is_loss(word) for word in words):
        log.open_heading("columns", words)
        return True
    return False


LINE = Line("columns", "# step loss lr then 100 2.31 0.0003", (" ",), 89, read, under=under)
