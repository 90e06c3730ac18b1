"""Whatever else has a loss and a number on a line: ``step 10 loss 2.41``, ``Epoch: 1, Training Loss: 6.39, Validation Loss: 4.75``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import cast

from sismo.sources.cells import Cell, row_of
from sismo.sources.keys import is_loss, meaning
from sismo.sources.line import Line, TextLog
from sismo.sources.pairs import pair_cells, without_stamp

_LOSSES = frozenset({"train", "val", "val_set", "term", "term_val"})
_AXES = frozenset({"step", "epoch", "batch"})
_HEADING = re.compile(r"^\W*epoch[:\s]*#?\s*(\d+)(?:\s*(?:/|of)\s*\d+)?\W*$", re.IGNORECASE)
_CODE_START = re.compile(r"\s*(?:File \"|\^|~|def |return |raise |self\.|for |if |print\(|#|//|>>> [a-z_]+ *=)")
_CODE_SIGNS = ("==", "+=", " = torch", "(self")
ONE_OFF_ROWS = 5
"""With this many loss rows in the log, a sentence that has a loss once and no step is no measurement of the curve."""


def cells(line: str) -> Sequence[Cell]:
    """A loss with its step, epoch or batch beside it."""
    if _is_code(line):
        return ()
    found = pair_cells(line)
    roles = {meaning(cell.key).role for cell in found}
    return found if roles & _LOSSES and roles & _AXES else ()


def read(line: str, log: TextLog) -> bool:
    heading = _HEADING.match(without_stamp(line))
    if heading:
        log.epoch = float(heading[1])
        log.close()
        return True
    if _is_code(line):
        return False
    row = row_of(line, pair_cells(line))
    roles = {meaning(key).role for key in row}
    if not roles & _LOSSES:
        if "weak" in roles and roles & _AXES:
            cast("list[dict[str, float]]", log.memo.setdefault("weak", [])).append(row)
            return True
        return bool(row) and _attach(row, log)
    if log.epoch is not None:
        row["epoch"] = log.epoch
    if "val" not in roles:
        _remember(row, log)
    log.add(row, open_row=True)
    return True


def _is_code(line: str) -> bool:
    return _CODE_START.match(line) is not None or line.endswith((";", "{")) or any(sign in line for sign in _CODE_SIGNS)


def _attach(row: dict[str, float], log: TextLog) -> bool:
    """A learning rate or gradient norm on a line of its own belongs to the loss right above, or under a new heading to the next one."""
    wanted = {key: value for key, value in row.items() if meaning(key).role == "lr" or meaning(key).member.startswith("grad_norm/")}
    if not wanted or len(wanted) < len(row):
        return False
    if not log.attach(wanted):
        log.await_row(wanted)
    return True


def _remember(row: dict[str, float], log: TextLog) -> None:
    seen = cast("dict[tuple[str, ...], list[int]]", log.memo.setdefault("generic", {}))
    seen.setdefault(tuple(row), []).append(log.rows.n_rows)


def finish(log: TextLog) -> None:
    """Drops the sentences that came only once beside a real curve; adds rows of errors and bare ``val`` where there is no loss at all."""
    if not any(is_loss(key) for key in log.rows.keys()):  # noqa: SIM118 - a method of the rows
        for row in cast("list[dict[str, float]]", log.memo.get("weak", [])):
            log.add(row)
    seen = cast("dict[tuple[str, ...], list[int]]", log.memo.get("generic", {}))
    dropped = [rows[0] for rows in seen.values() if len(rows) == 1]
    if dropped and log.rows.n_rows - len(dropped) >= ONE_OFF_ROWS:
        for row in dropped:
            log.rows.clear(row)


LINE = Line(
    "generic",
    "Epoch: 1, Training Loss: 6.39, Validation Loss: 4.75",
    ("loss", "cost", "rdida", "epoch", "poca", "val ", "lr", "learning rate", "error", "mse", "nll", "xent", "trl:", "tel:", "norm"),
    90,
    read,
    finish=finish,
    cells=cells,
    stays_open=True,
)
