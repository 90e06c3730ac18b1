"""fairseq: ``train_inner | epoch 001:  50 / 1000 loss=15.3, num_updates=50, ..`` and ``| epoch 027 | loss 6.343 | num_updates 10198``."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sismo.sources.cells import Cell, cells_by, group_cell
from sismo.sources.line import Line, TextLog
from sismo.sources.numbers import NUMBER

_INNER = re.compile(r"\bepoch (\d+)(?::\s*|\s+)(\d+)\s*/\s*(\d+)\s+(.*)")
_SUMMARY = re.compile(r"\bepoch (\d+) \|(.*)")
_EQUALS = re.compile(rf"([\w./-]+)=\s*({NUMBER})")
_SPACED = re.compile(rf"(?<=\|)\s*([\w./ -]+?)\s+({NUMBER})\s*(?=\||$)")
_VALID = re.compile(r"\bvalid(?:ation)? on ['\"]?(\S+?)['\"]? subset", re.IGNORECASE)


def cells(line: str) -> Sequence[Cell]:
    found = _INNER.search(line)
    if found:
        row = list(cells_by(_EQUALS, line, found.start(4)))
        keys = {cell.key for cell in row}
        if "loss" not in keys:
            return ()
        place = group_cell("epoch", found, 1) if "num_updates" in keys else (*group_cell("epoch", found, 1), *group_cell("batch", found, 2))
        return [*row, *place]
    found = _SUMMARY.search(line)
    if found is None or not ("num_updates" in line or "gnorm" in line or _VALID.search(line)):
        return ()
    valid = _VALID.search(line) is not None
    row = [cell._replace(key=_name(cell.key, valid)) for cell in cells_by(_SPACED, line, found.start(2))]
    return [*group_cell("epoch", found, 1), *row] if any("loss" in cell.key and "scale" not in cell.key for cell in row) else ()


def read(line: str, log: TextLog) -> bool:
    # Part of an evaluation, whose mean comes later.
    return _SUMMARY.search(line) is not None and _VALID.search(line) is not None


def _name(key: str, valid: bool) -> str:
    """The summary of an epoch repeats the names of its steps: its means get a suffix, its validation a prefix."""
    if key == "num_updates":
        return key
    if valid:
        return key if key.startswith("valid") else f"valid_{key}"
    bare = key.removeprefix("train_")
    return f"{bare}_epoch" if bare in ("loss", "nll_loss") else bare


LINE = Line(
    "fairseq",
    "| epoch 027 | loss 6.343 | ppl 31.65 | num_updates 10198 | lr 0.0006 | gnorm 0.390 | loss_scale 0.500",
    ("epoch ",),
    20,
    read,
    cells=cells,
)
