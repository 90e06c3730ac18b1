"""Whatever else has a loss and a number on a line: ``step 10 loss 2.41``, ``Epoch: 1, Training Loss: 6.39, Validation Loss: 4.75``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import cast

from sismo.sources.cells import Cell, Parsed
from sismo.sources.keys import is_loss, meaning
from sismo.sources.line import Line, TextLog
from sismo.sources.pairs import pair_cells, without_stamp
from sismo.sources.words import EPOCHS, HINTS, RATES

_LOSSES = frozenset({"train", "val", "val_set", "term", "term_val"})
_COUNTERS = frozenset({"step", "epoch"})
_AXES = _COUNTERS | {"batch"}
_HEADING = re.compile(rf"^\W*(?:epoch|.?(?:{'|'.join(EPOCHS)}))[:\s]*#?\s*(\d+)(?:\s*(?:/|of)\s*\d+)?\W*$", re.IGNORECASE)
_EPOCH, _WEAK, _BESIDE, _TOLD = "epoch", "weak", "beside", "told-"
_CODE_START = re.compile(r"\s*(?:File \"|\^|~|def |return |raise |self\.|for |if |print\(|#|//|>>> [a-z_]+ *=)")
_SAID = re.compile(r"\bloss is (?:nan|inf)\w*\b.*(?:skip|stop|exit|abort)|(?:warning|error)\b.*\bloss is (?:nan|inf)", re.IGNORECASE)
"""A sentence about the loss that was computed last, which stands in a row of its own: evidence, and no other row."""
_WORD = re.compile(r"(?<![\w/.-])[^\W\d_]{2,}(?![\w/-])")
_PROSE = 10
"""Words beside those that name its numbers from which a line is a sentence: what a page tells of a run, where no other line is like it."""
_CODE_SIGN = re.compile(r"(?<!=)==(?![=>])|\+=| = torch|\(self")
ONE_OFF_ROWS = 5
"""With this many loss rows in the log, a sentence that has a loss once and no step is no measurement of the curve."""


def cells(line: str) -> Sequence[Cell]:
    """A loss with its step or epoch beside it; a batch may be one of the epoch above."""
    if _is_code(line):
        return ()
    found = pair_cells(line)
    roles = {meaning(cell.key).role for cell in found}
    return found if roles & _LOSSES and roles & _COUNTERS and not _is_told(line, found) else ()


def parse(line: str) -> Parsed | None:
    """The heading of an epoch; a loss without a counter, a counter with an error, or what belongs to the loss beside it."""
    start = len(line) - len(without_stamp(line))
    heading = _HEADING.match(line[start:])
    if heading:
        return Parsed([Cell("epoch", start + heading.start(1), start + heading.end(1))], _EPOCH)
    if _is_code(line):
        return None
    found = pair_cells(line)
    roles = {meaning(cell.key).role for cell in found}
    if roles & _LOSSES and _SAID.search(line):
        return None
    if roles & _LOSSES:
        told = _TOLD if _is_told(line, found) else ""
        return Parsed(found, told + ("val" if "val" in roles else "train"))
    if "weak" in roles and roles & _AXES:
        return Parsed(found, _WEAK)
    beside = [cell for cell in found if meaning(cell.key).role == "lr" or meaning(cell.key).member.startswith("grad_norm/")]
    return Parsed(found, _BESIDE) if found and len(beside) == len(found) else None


def settle(row: dict[str, float], word: str, log: TextLog) -> None:
    if word == _EPOCH:
        log.epoch = row["epoch"]
        log.close()
    elif word == _WEAK:
        cast("list[dict[str, float]]", log.memo.setdefault("weak", [])).append(row)
    elif word == _BESIDE:
        # A learning rate or gradient norm on a line of its own belongs to the loss right above, or under a new heading to the next one.
        if not log.attach(row):
            if log.rows.n_rows == 0:
                cast("set[str]", log.memo.setdefault("generic-before", set())).update(row)
            log.await_row(row)
    else:
        if log.epoch is not None:
            row["epoch"] = log.epoch
        if word.startswith(_TOLD) or word != "val":
            _remember(row, log, word)
        log.add(row, open_row=True)


def _is_code(line: str) -> bool:
    return (
        _CODE_START.match(line) is not None
        or (line.endswith((";", "{")) and not line.endswith(" ;"))
        or _CODE_SIGN.search(line) is not None
    )


def _is_told(line: str, found: Sequence[Cell]) -> bool:
    start = len(line) - len(without_stamp(line))
    names = [cell.named for cell in found if cell.named is not None]
    words = (word.start() for word in _WORD.finditer(line, start))
    return sum(not any(first <= at < last for first, last in names) for at in words) >= _PROSE


def _remember(row: dict[str, float], log: TextLog, word: str) -> None:
    told = word.startswith(_TOLD)
    seen = cast("dict[frozenset[str], list[int]]", log.memo.setdefault(_TOLD if told else "generic", {}))
    seen.setdefault(frozenset(row), []).append(log.rows.n_rows)


def finish(log: TextLog) -> None:
    """Drops what came only once: a sentence, or a line beside a real curve. Adds rows of errors and ``val`` where there is no loss."""
    for rows in cast("dict[frozenset[str], list[int]]", log.memo.get(_TOLD, {})).values():
        if len(rows) == 1:
            log.rows.clear(rows[0])
    if not any(is_loss(key) for key in log.rows.keys()):  # noqa: SIM118 - a method of the rows
        for row in cast("list[dict[str, float]]", log.memo.get("weak", [])):
            log.add(row)
    if log.rows.n_rows >= ONE_OFF_ROWS:
        for key in cast("set[str]", log.memo.get("generic-before", set())):
            log.rows.drop_lone(key)  # told once, before the losses: a setting
    seen = cast("dict[frozenset[str], list[int]]", log.memo.get("generic", {}))
    dropped = [rows[0] for rows in seen.values() if len(rows) == 1]
    if dropped and log.rows.n_rows - len(dropped) >= ONE_OFF_ROWS:
        for row in dropped:
            log.rows.clear(row)


LINE = Line(
    "generic",
    "Epoch: 1, Training Loss: 6.39, Validation Loss: 4.75",
    (
        "loss",
        "cost",
        "epoch",
        "val ",
        "lr",
        "learning rate",
        "learning_rate",
        "error",
        "mse",
        "nll",
        "xent",
        "ppl",
        "perplexity",
        "trl:",
        "tel:",
        "norm",
        *HINTS,
        *EPOCHS,
        *RATES,
    ),
    90,
    finish=finish,
    cells=cells,
    parse=parse,
    settle=settle,
    stays_open=True,
)
