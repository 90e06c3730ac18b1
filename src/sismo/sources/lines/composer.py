"""Composer: a header ``[epoch=1][batch=10/100]:`` and then ``Train loss/train/total: 2.31``, one measurement a line."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sismo.sources.axis import EPOCH_LENGTH_KEY
from sismo.sources.cells import Cell, cells_by, group_cell
from sismo.sources.line import Line, TextLog
from sismo.sources.numbers import NUMBER

_HEADER = re.compile(r"^\s*(?:\[epoch=(\d+)(?:/\d+)?\])?\[batch=(\d+)(?:/(\d+))?\]:\s*$")
_EVALUATION = re.compile(r"^\s*\[Eval batch=(\d+)/(\d+)\].*:\s*$")
_METRIC = re.compile(rf"^\s+(?:Train|Eval) ([\w./ -]+?):\s*({NUMBER})\s*$")


def cells(line: str) -> Sequence[Cell]:
    found = _HEADER.match(line)
    if found is None:
        return ()
    names = ("epoch", "batch", EPOCH_LENGTH_KEY) if found[1] else ("epoch", "step", "total_steps")
    return [cell for group, name in enumerate(names, 1) for cell in group_cell(name, found, group)]


def more(line: str) -> Sequence[Cell]:
    # Of the evaluation only its cross entropy is a loss, under the name of a metric; the training repeats its loss so.
    return [cell._replace(key=_name(cell.key)) for cell in cells_by(_METRIC, line, 0)]


def _name(key: str) -> str:
    return "eval/loss" if key.startswith("metrics/eval/") and key.endswith("CrossEntropy") else key


def read(line: str, log: TextLog) -> bool:
    """An evaluation is a row of its own, at the step that was reached."""
    found = _EVALUATION.match(line)
    if found:
        log.add({}, open_row=True)
    return found is not None


LINE = Line("composer", "[epoch=1][batch=10/100]: then \t Train loss/train/total: 2.31", ("batch=", "train ", "eval "), 22, read,
            cells=cells, more=more, stays_open=True)  # fmt: skip
