"""tqdm with a postfix: ``Epoch 1:  48%|####8     | 223/469 [00:10<00:10, 24.27it/s, loss=4.1634]``.

A bar is redrawn more often than it moves: the same postfix again is no new step, and a new postfix at an old count is the next one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

import numpy as np
from numpy.typing import NDArray

from sismo.sources.axis import EPOCH_LENGTH_KEY
from sismo.sources.cells import Cell, Parsed
from sismo.sources.keys import is_loss
from sismo.sources.line import Line, TextLog
from sismo.sources.pairs import find_cells

_BAR = re.compile(
    r"(?P<head>[^%]*?)(?P<percent>\d+)%\|[^|]*\|\s*(?P<count>\d+)/(?P<total>\d+)\s*\[[^,\]]*"
    r"(?:,[^,\]]*(?:it|s|batch\w*|step\w*|ex\w*)/\w+)?(?P<post>,[^\]]*)?\](?P<after>.*)"
)
_EPOCH = re.compile(r"epoch[\s:#=]*\[?(\d+)", re.IGNORECASE)
_LAST_EPOCH = re.compile(r"^\W*(\d+)\s*/\s*(\d+)\b")
_HELD_OUT = re.compile(r"\b(?:val|valid|validation|validating|eval|evaluating|test|testing)\b", re.IGNORECASE)
_NAMED, _COUNT, _TOTAL = "@epoch", "@count", "@total"


@dataclass(slots=True)
class _Seen:
    count: float = -1.0
    row: dict[str, float] = field(default_factory=dict)
    step: float = -1.0
    epoch: float = 0.0


def parse(line: str) -> Parsed | None:
    found = _BAR.search(line)
    if not found:
        return None
    group = "post" if (found["post"] or "").strip(", ") else "after"
    first = found.start(group) + len(found[group]) - len(found[group].lstrip(" :,|"))
    values = [cell for cell, _ in find_cells(line, first, found.end(group))]
    if not any(is_loss(cell.key) for cell in values):
        return None
    head = found["head"]
    named = _EPOCH.search(line, *found.span("head")) or _LAST_EPOCH.match(head)
    place = [Cell(key, *found.span(name)) for key, name in ((_COUNT, "count"), (_TOTAL, "total"))]
    if named:
        at = named.start(1) if named.string is line else found.start("head") + named.start(1)
        place.append(Cell(_NAMED, at, at + len(named[1])))
    return Parsed([*place, *values], "val" if _HELD_OUT.search(head) else "train")


def settle(row: dict[str, float], side: str, log: TextLog) -> None:
    count, total, named = row.pop(_COUNT), row.pop(_TOTAL), row.pop(_NAMED, None)
    seen = cast("_Seen", log.memo.setdefault(f"tqdm-{side}", _Seen()))
    epoch = named if named is not None else _epoch(count, seen, log)
    if side == "val":
        # Only the end of an evaluation bar is a result; the rest are running means.
        if count == total and (epoch != seen.epoch or not _same(row, seen.row)):
            log.add({"epoch": epoch} | {f"val/{key}": value for key, value in row.items()})
            seen.epoch, seen.row = epoch, row
        return
    fresh = epoch != seen.epoch or count < seen.count
    if not fresh and _same(row, seen.row) and (count <= seen.count or all(map(math.isfinite, row.values()))):
        # The same NaN at a later count is a later NaN; the same number may be the old one, drawn again.
        seen.count = count
        return
    step = count if fresh else max(count, seen.step + 1)
    seen.count, seen.row, seen.step, seen.epoch = count, row, step, epoch
    log.add({"epoch": epoch, "batch": step, EPOCH_LENGTH_KEY: total} | row)


def settle_run(columns: Mapping[str, NDArray[np.float64]], side: str, log: TextLog) -> None:
    """Does for many bars what ``settle`` does for each: it asks of a bar only what the one before showed, and adds those that are new."""
    seen = cast("_Seen", log.memo.setdefault(f"tqdm-{side}", _Seen()))
    counts, totals = columns[_COUNT], columns[_TOTAL]
    before = np.append(seen.count, counts[:-1])
    epochs = columns.get(_NAMED)
    if epochs is None:
        begins = np.zeros(counts.size) if log.epoch is not None or side == "val" else counts < before
        epochs = np.cumsum(begins, dtype=np.float64) + (seen.epoch if log.epoch is None else log.epoch)
    shown = {key: values for key, values in columns.items() if key not in (_COUNT, _TOTAL, _NAMED)}
    if side == "val":
        ends = np.flatnonzero(counts == totals)
        if not ends.size:
            return
        epochs, shown = epochs[ends], {key: values[ends] for key, values in shown.items()}
    same = _as_before(shown, seen.row)
    fresh = np.append(seen.epoch, epochs[:-1]) != epochs
    if side == "val":
        new = np.flatnonzero(fresh | ~same)
        place = {"epoch": epochs[new]}
    else:
        fresh |= counts < before
        finite = np.logical_and.reduce([np.isfinite(values) for values in shown.values()])
        new = np.flatnonzero(fresh | ~same | ((counts > before) & ~finite))
        steps = _counted(counts[new], fresh[new], seen.step)
        place = {"epoch": epochs[new], "batch": steps, EPOCH_LENGTH_KEY: totals[new]}
        seen.count = float(counts[-1])
    if new.size:
        prefix = "val/" if side == "val" else ""
        log.add_together(place | {f"{prefix}{key}": values[new] for key, values in shown.items()}, new.size)
        seen.epoch, seen.row = float(epochs[new[-1]]), {key: float(values[new[-1]]) for key, values in shown.items()}
        seen.step = float(place["batch"][-1]) if "batch" in place else seen.step


def _as_before(shown: Mapping[str, NDArray[np.float64]], first: Mapping[str, float]) -> NDArray[np.bool_]:
    """Which bars show the numbers of the one before them, the first of them those of another."""
    pairs = [(values[:-1], values[1:]) for values in shown.values()]
    same = np.logical_and.reduce([(before == after) | (np.isnan(before) & np.isnan(after)) for before, after in pairs])
    return np.append(_same({key: float(values[0]) for key, values in shown.items()}, first), same)


def _counted(counts: NDArray[np.float64], fresh: NDArray[np.bool_], step: float) -> NDArray[np.float64]:
    """The steps of bars that show something new: their counts, or the next step where the bar stands."""
    late = np.flatnonzero(~fresh & (counts <= np.append(step, counts[:-1])))
    if not late.size:
        return counts
    steps = counts.tolist()
    for at in range(int(late[0]), len(steps)):
        if not fresh[at]:
            steps[at] = max(steps[at], (steps[at - 1] if at else step) + 1)
    return np.array(steps)


def _same(row: Mapping[str, float], other: Mapping[str, float]) -> bool:
    """Whether two bars show the same numbers; NaN is the same as NaN."""
    if row.keys() != other.keys():
        return False
    return all(value == other[key] or (value != value and other[key] != other[key]) for key, value in row.items())


def _epoch(count: float, seen: _Seen, log: TextLog) -> float:
    """The epoch of a bar that names none: that of the heading above, or bars of the same length that start again count up."""
    if log.epoch is not None:
        return log.epoch
    return seen.epoch + 1 if count < seen.count else seen.epoch


LINE = Line(
    "tqdm", "Epoch 1:  48%|####8     | 223/469 [00:10<00:10, 24.27it/s, loss=4.1634]", ("it/s", "s/it", "batch/s", "step/s", "?"), 15,
    parse=parse, settle=settle, settle_run=settle_run)  # fmt: skip
