"""Numbers before their names, between commas: tinygrad's ``  7 1030.02 ms run, 4.06 ms fetch data,  7.03 loss, 0.00 acc, 0.000021 LR``."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sismo.sources.axis import COUNT_KEY
from sismo.sources.cells import Cell
from sismo.sources.keys import is_loss
from sismo.sources.line import Line
from sismo.sources.numbers import NUMBER

_FIELD = re.compile(rf"(?:^|,)\s*(?:(\d+)\s+)?({NUMBER}) ([A-Za-z][A-Za-z ]*[A-Za-z])(?=\s*(?:,|\*|$))")
_FIELDS = 3


def cells(line: str) -> Sequence[Cell]:
    """Three fields or more, one of them a loss; a number before the first one counts the rows."""
    found = list(_FIELD.finditer(line))
    if len(found) < _FIELDS or not any(is_loss(one[3]) for one in found):
        return ()
    counted = [Cell(COUNT_KEY, *found[0].span(1))] if found[0][1] else []
    return [*counted, *(Cell(one[3], *one.span(2), one.span(3)) for one in found)]


LINE = Line("value-first", "  7 1030.02 ms run, 4.06 ms fetch data,  7.03 loss, 0.00 acc, 0.000021 LR", (" loss,",), 40, cells=cells)
