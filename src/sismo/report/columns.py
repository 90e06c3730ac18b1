"""Rows as columns that fit a page: what is too wide goes on below, so that no cell is cut off."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

_GAP, _INDENT = "  ", "  "
_BREAKS = "./_,"
"""After these a name may go on below; a sentence does so between words."""


def columns(rows: Sequence[Sequence[str]], width: int) -> list[list[str]]:
    """The lines of each row; the first row is the head. A head of several words gives way first, then the widest column."""
    widths = _widths(rows, width - len(_INDENT) - len(_GAP) * (len(rows[0]) - 1))
    return [list(_laid_out(row, widths)) for row in rows]


def _widths(rows: Sequence[Sequence[str]], room: int) -> list[int]:
    head, cells = rows[0], rows[1:]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for place, title in enumerate(head):
        if sum(widths) > room:
            least = max([*map(len, title.split()), *(len(row[place]) for row in cells)], default=1)
            widths[place] = max(least, widths[place] - (sum(widths) - room))
    while sum(widths) > room and max(widths) > 1:
        widths[widths.index(max(widths))] -= 1
    return widths


def _laid_out(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    parts = [_broken(cell, width) for cell, width in zip(row, widths, strict=True)]
    lines = zip_longest(*parts, fillvalue="")
    return [(_INDENT + _GAP.join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))).rstrip() for line in lines]


def _broken(cell: str, width: int) -> list[str]:
    """A cell in pieces of a width: parted at a blank, or else after a mark in a name, or else where it is full."""
    pieces: list[str] = []
    while len(cell) > width:
        blank = cell.rfind(" ", 1, width + 1)
        at = blank if blank > 0 else max(cell.rfind(mark, 0, width) for mark in _BREAKS) + 1 or width
        pieces.append(cell[:at].rstrip())
        cell = cell[at:].lstrip()
    return [*pieces, cell]
