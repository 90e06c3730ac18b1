"""Flat dictionaries as Python and JavaScript print them: quotes of either kind, ``nan``, ``inf``, ``None``, ``tensor(2.3)``."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sismo.sources.cells import Cell
from sismo.sources.numbers import number

_PAIR = re.compile(r"""['"]([^'"]{1,120})['"]\s*:\s*(?:['"]([^'"]*)['"]|((?:tensor|np\.float\d+|array)\([^()]*\)|[^\s,{}\[\]'"]+))""")


def pairs(text: str) -> dict[str, float]:
    """The numbers of a printed dictionary, nested ones flat; what is no number is left out."""
    found: dict[str, float] = {}
    for key, quoted, bare in _PAIR.findall(text):
        value = number(quoted or bare)
        if value is not None:
            found[key] = value
    return found


def pair_cells(text: str, start: int, end: int) -> Iterator[Cell]:
    """The same by place; empty unless every number stands there bare or in quotes, rather than inside ``tensor(…)``."""
    found = [(match, 3 if match[2] is None else 2) for match in _PAIR.finditer(text, start, end)]
    if not any("(" in match[group] for match, group in found):
        yield from (Cell(match[1], *match.span(group), match.span(1)) for match, group in found if number(match[group]) is not None)


def words(text: str) -> dict[str, str]:
    """The keys and values of a printed dictionary as they stand."""
    return {key: quoted or bare for key, quoted, bare in _PAIR.findall(text)}
