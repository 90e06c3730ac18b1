"""Counters that a line does not name: ``[1,  2000] loss: 2.2``, ``100/6000 loss: 2.2``, ``loss after 100 steps: 2.2``, ``第 3 轮``."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sismo.sources.axis import COUNT_KEY, EPOCH_LENGTH_KEY
from sismo.sources.cells import Cell, group_cell
from sismo.sources.numbers import NUMBER
from sismo.sources.words import nth

_EPOCH_AND_BATCH = re.compile(r"\W{0,2}\[\s*(\d+)\s*,\s*(\d+)\s*\]")
"""The training loop of the PyTorch tutorials."""
_AT_START = re.compile(r"(?:[A-Za-z]+:?\s*)?(?:\[[>=#.\s-]*\])?[\s\[(]*(\d+)\s*/\s*(\d+)(?![\d/.])")
_BEHIND = re.compile(r"[\[(]\s*(\d+)\s*/\s*(\d+)\s*[\])]")
_BARE = re.compile(r"[\s\[(#]*(\d+)(?:\s*[\])|,;:]\s*|\s+)(?![\d:])")
_AFTER = re.compile(
    rf"((?:[\w./-]+ ){{0,3}}\w*(?:loss|cost)\w*)(?: \([a-z ]+\))? (?:after|at|for)(?: (step|iteration|iter|epoch|batch))? (\d+)"
    rf"(?: ?(step|iteration|iter|update|batch|epoch)(?:es|s)?)?\s*[:=]\s*({NUMBER})(?![\w.]*\d)",
    re.IGNORECASE,
)


def counter(line: str, start: int) -> Iterator[Cell]:
    """The cells of the counter that stands at the start of a line from there on, or is written ``[64/60000]`` behind the loss."""
    if found := _EPOCH_AND_BATCH.match(line, start):
        yield from group_cell("epoch", found, 1)
        yield from group_cell("batch", found, 2)
    elif found := _AT_START.match(line, start) or _BEHIND.search(line, start):
        yield from group_cell(COUNT_KEY, found, 1)
        yield from group_cell(EPOCH_LENGTH_KEY, found, 2)
    elif found := _BARE.match(line, start):
        yield from group_cell(COUNT_KEY, found, 1)


def in_words(line: str, start: int) -> tuple[list[Cell], int]:
    """The counter, or it and the loss, where a line begins with them in words, and where they end; no cells and the start elsewhere."""
    found = _AFTER.match(line, start)
    if found is None:
        return ([Cell(counted[0], *counted[1])], counted[2]) if (counted := nth(line, start)) else ([], start)
    unit = (found[2] or found[4] or "step").lower()
    return [Cell(unit, *found.span(3)), Cell(found[1].strip(), *found.span(5), found.span(1))], found.end()
