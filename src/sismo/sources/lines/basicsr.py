"""BasicSR, ESRGAN and KAIR: ``[epoch:  0, iter:   1,000, lr:(1.0e-04,)] l_g_pix: 4.1e-02 l_d_real: 0.1``, where ``l_`` is loss."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sismo.sources.cells import Cell, cells_by, group_cell
from sismo.sources.line import Line
from sismo.sources.numbers import NUMBER

_LINE = re.compile(
    rf"[\[<](?:[^\[\]<>]*\]\[)?epoch:\s*(\d+),\s*iter:\s*([\d,]*\d),\s*lr:\(?({NUMBER})[^\]>]*[\]>]\s*(?:\[eta:[^\]]*\]\s*)?"
)
_PAIR = re.compile(rf"(\w+): ({NUMBER})")


def cells(line: str) -> Sequence[Cell]:
    found = _LINE.search(line)
    if found is None:
        return ()
    losses = [
        cell._replace(key=f"loss_{cell.key.removeprefix('l_')}") if cell.key.startswith("l_") else cell
        for cell in cells_by(_PAIR, line, found.end())
    ]
    return [*group_cell("epoch", found, 1), *group_cell("iter", found, 2), *group_cell("lr", found, 3), *losses]


LINE = Line("basicsr", "[epoch:  0, iter:   1,000, lr:(1.000e-04,)] l_g_pix: 4.1864e-02 l_d_real: 1.1156e-01", ("epoch:",), 17, cells=cells)
