"""VITS and its many children: ``Train Epoch: 11 [5%]``, then the six losses, the step and the rate as a bare list, or by name."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sismo.sources.cells import Cell, Parsed, group_cell
from sismo.sources.line import Line, TextLog
from sismo.sources.numbers import NUMBER

_NAMES = ("loss_disc", "loss_gen", "loss_fm", "loss_mel", "loss_dur", "loss_kl")
"""In the order in which jaywalnut310's ``train.py`` and ``train_ms.py`` list them."""
_AXES = ("global_step", "lr")
_NEXT = rf",\s*({NUMBER})"
_LIST = re.compile(rf"(?:^|[:\s])\[({NUMBER}){_NEXT * 5},\s*(\d+){_NEXT}\]\s*$")
_PLACE = re.compile(rf"(?:^|[:\s])\[(\d+),\s*({NUMBER})\]\s*$")
_HEADING = re.compile(r"\bTrain Epoch: \d+ \[[\d.]+%\]\s*$")
_HEADED = "vits"


def cells(line: str) -> Sequence[Cell]:
    found = _LIST.search(line)
    return [cell for group, name in enumerate((*_NAMES, *_AXES), 1) for cell in group_cell(name, found, group)] if found else ()


def parse(line: str) -> Parsed | None:
    """The step and the rate alone: the losses follow by name."""
    if _HEADING.search(line):
        return Parsed((), _HEADED)
    found = _PLACE.search(line)
    return Parsed([cell for group, name in enumerate(_AXES, 1) for cell in group_cell(name, found, group)]) if found else None


def settle(row: dict[str, float], word: str, log: TextLog) -> None:
    if word == _HEADED:
        log.memo[_HEADED] = True
    elif _HEADED in log.memo:
        log.await_row(row)


LINE = Line("vits", "[2.9, 1.5, 0.2, 0.3, 1.8, 0.6, 6200, 0.0002]", ("train epoch:", "["), 60, cells=cells, parse=parse, settle=settle)
