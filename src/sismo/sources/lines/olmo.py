"""OLMo: a header ``[step=1/15000,epoch=0]`` and then one ``    key=value`` a line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from sismo.sources.cells import Cell, cells_by, group_cell
from sismo.sources.line import Line
from sismo.sources.numbers import NUMBER

_HEADER = re.compile(r"\[step=(\d+)(?:/(\d+))?(?:,epoch=(\d+))?[^\]]*\]")
_METRIC = re.compile(rf"^\s+([A-Za-z][\w/ ().-]{{0,80}})=({NUMBER})\s*$")


def cells(line: str) -> Sequence[Cell]:
    found = _HEADER.search(line)
    names: Iterable[str] = ("step", "total_steps", "epoch") if found else ()
    return [cell for group, name in enumerate(names, 1) if found for cell in group_cell(name, found, group)]


def more(line: str) -> Sequence[Cell]:
    return list(cells_by(_METRIC, line, 0))


LINE = Line("olmo", "[step=1/15000,epoch=0] then     train/CrossEntropyLoss=2.998", ("[step=", "="), 25,
            cells=cells, more=more, stays_open=True)  # fmt: skip
