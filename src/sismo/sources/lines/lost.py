"""The last words of detectron2: ``FloatingPointError: Loss became infinite or NaN at iteration=549!`` is the row that it died of."""

from __future__ import annotations

import re

from sismo.sources.cells import Parsed, group_cell
from sismo.sources.line import Line, TextLog

_LOST = re.compile(r"\bLoss became (?:infinite or )?(NaN|inf(?:inite)?) at iteration\s*[=:]?\s*(\d+)", re.IGNORECASE)


def parse(line: str) -> Parsed | None:
    found = _LOST.search(line)
    return Parsed([*group_cell("total_loss", found, 1), *group_cell("iter", found, 2)]) if found else None


def settle(row: dict[str, float], _: str, log: TextLog) -> None:
    """Adds the row before the crash that it explains: the run did not outlive it."""
    died = [mark for mark in log.rows.marks if mark.kind == "crash" and mark.row == log.rows.n_rows]
    log.add(row, open_row=True)
    for mark in died:
        log.rows.marks.remove(mark)
        log.rows.marks.append(mark._replace(row=log.rows.n_rows))


LINE = Line("lost", "FloatingPointError: Loss became infinite or NaN at iteration=549!", ("loss became",), 12, parse=parse, settle=settle)
