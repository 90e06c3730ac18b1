"""Caffe: ``Iteration 20, loss = 2.1``, its learning rate on a line of its own, and what the training and the test net put out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import cast

from sismo.sources.cells import Cell, Parsed, group_cell
from sismo.sources.keys import is_loss
from sismo.sources.line import Line, TextLog
from sismo.sources.numbers import NUMBER

_SOLVER = r"solver\.cpp:\d+\]\s+"
_ITERATION = re.compile(rf"{_SOLVER}Iteration (\d+)(?: \([^)]*\))?, (loss|lr) = ({NUMBER})")
_TESTING = re.compile(rf"{_SOLVER}Iteration (\d+), Testing net")
_OUTPUT = re.compile(rf"{_SOLVER}(Train|Test) net output #\d+: ([^\s=]+) = ({NUMBER})(?P<part> \(\*)?")
_MAIN = "loss"
_STEP = "caffe-test"


def cells(line: str) -> Sequence[Cell]:
    """The loss or the learning rate of an iteration: two lines, the one or the other first, of one step."""
    found = _ITERATION.search(line)
    return [*group_cell("iter", found, 1), *group_cell(found[2], found, 3)] if found else ()


def more(line: str) -> Sequence[Cell]:
    """A term of the loss above; one that is called as the loss is the loss of the last batch, where the line above has a mean."""
    found = _OUTPUT.search(line)
    if found is None or found[1] == "Test" or (found["part"] and found[2] == _MAIN):
        return ()
    return [_output(found)]


def _output(found: re.Match[str], prefix: str = "") -> Cell:
    """What a net puts out; the lines of a loss say with which weight it counts."""
    part = "loss/" if found["part"] and not is_loss(found[2]) else ""
    return Cell(f"{prefix}{part}{found[2]}", *found.span(3), found.span(2))


def parse(line: str) -> Parsed | None:
    if found := _TESTING.search(line):
        return Parsed(list(group_cell("iter", found, 1)), _STEP)
    found = _OUTPUT.search(line)
    if found is None:
        return None
    if found[1] == "Train":
        return Parsed([Cell("again", *found.span(3))])
    return Parsed([_output(found, "test ")])


def settle(row: dict[str, float], word: str, log: TextLog) -> None:
    if word == _STEP:
        log.memo[_STEP] = row["iter"]
    elif "again" not in row and _STEP in log.memo:
        log.add({"iter": cast("float", log.memo[_STEP]), **row})


LINE = Line("caffe", "solver.cpp:228] Iteration 20, loss = 2.1", ("solver.cpp:",), 25,
            cells=cells, more=more, parse=parse, settle=settle, stays_open=True)  # fmt: skip
