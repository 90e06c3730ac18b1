"""``key: value``, ``key=value`` and ``key value`` inside a line, whatever stands between them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from sismo.sources.axis import EPOCH_LENGTH_KEY
from sismo.sources.cells import Cell, group_cell
from sismo.sources.keys import is_loss, meaning
from sismo.sources.numbers import NUMBER, number
from sismo.sources.places import counter, in_words

# Numbers are found first and their keys read backwards from them: matching keys forwards tries every word of every sentence.
_VALUE = re.compile(
    rf"(?:(?<=[\s:=(\[])|(?<=[:=][ '\"]['\"])|(?<=[:=]['\"]))({NUMBER})(?:\s?/\s*(\d+))?(?:\s?%|([a-zA-Zµ/]{{1,8}}))?(?!\w|\.\d|:\d|-\d)"
)
_KEY = re.compile(r"(?:[^\W\d][\w./@()%-]* |\([\w./@()%-]* ){0,3}(?:[^\W\d]|@)[\w./@()%-]*$")
_BRACKETED = re.compile(r"\[([A-Za-z][A-Za-z_ -]*)\]$")
"""A key in brackets of its own: ``[Loss] 2.41 | [step] 89``."""
_PREFIXED = re.compile(r"^(?:\([^()]*\)|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR) ")
_QUOTES = ("'", '"')
_FILE = re.compile(r"\.(?:cc?|cpp|cxx|cu|cuh|h|hpp|rs|go|java|js|ts|jl|lua|sh)$")
"""``…/lr_scheduler.py:28`` and ``loss.cpp:28`` are places in a file, whatever its name says."""
_IN_TIME = re.compile(r"\s?(?:s|secs?|seconds?|[muµ]s|mins?|minutes?|h|hrs?|hours?)\b(?!\s*[\d.:=])")
"""Behind a cost that is one in time: ``Cost 100.48s``."""
_MULTIPLES = {"k": 1e3, "K": 1e3, "M": 1e6}
"""Units of a step counter: ``step 1.5k``."""
_SEPARATORS = " \t:=([\"'"
MAX_KEY = 100
_HELD_OUT = re.compile(r"(?:^|[\s\[(|>*#=-])(val|vali|valid|validation|eval|evaluation|test|testing|dev)(?:[\s\])|:]|$)", re.IGNORECASE)
_SAMPLES = re.compile(r"\[\s*(\d+)\s*/\s*(\d+)")
_TWO_COUNTS = re.compile(r"\s*\[\s*(\d+)\s*/\s*(\d+)\s*\]\s*\[\s*(\d+)\s*/\s*(\d+)\s*\]")
_STAMP = re.compile(
    r"^\W{0,2}(?:(?:\d{4}[-/]\d\d[-/]\d\d|\d\d[-/]\d\d)[ T_]\d\d:\d\d:\d\d(?:[.,]\d+)?\S{0,6}"
    r"|[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?: \d{4})?(?: ?\])?)\s*"
)
_AXES = frozenset({"step", "epoch", "batch"})


def find_cells(line: str, start: int = 0, stop: int | None = None) -> Iterator[tuple[Cell, Cell | None]]:
    """The pairs in a stretch of a line as cells, each with that of what it is out of, for ``10/47``."""
    end = start
    for match in _VALUE.finditer(line, start, len(line) if stop is None else stop):
        first, end = max(end, match.start() - MAX_KEY), match.end()
        text = line[first : match.start()].rstrip(_SEPARATORS)
        found = _BRACKETED.search(text) or _KEY.search(text)
        key = found[found.re.groups] if found is not None else ""
        if found is None or ".py" in key or (_FILE.search(key) and line[match.start() - 1] == ":") or number(match[1]) is None:
            continue
        start = first + found.start(found.re.groups)
        # "(__main__) Epoch: 6", "INFO Train epoch: 6": the name or the level of a logger before the counter or the loss.
        if (bare := _PREFIXED.sub("", key)) != key and (meaning(bare).role in _AXES or is_loss(bare)):
            start, key = start + len(key) - len(bare), bare
        if (quote := line[match.start() - 1]) in _QUOTES and line[match.end(1) : match.end(1) + 1] != quote:
            continue
        if _IN_TIME.match(line, match.end(1)) and is_loss(key):
            continue
        times = _MULTIPLES[match[3]] if match[3] in _MULTIPLES and meaning(key).role == "step" else 1.0
        out_of = Cell(key, *match.span(2)) if match[2] else None
        yield Cell(key, *match.span(1), (start, start + len(key)), times), out_of


def without_stamp(line: str) -> str:
    """The line without the date and time that it begins with."""
    return line[_after_stamp(line) :]


def _after_stamp(line: str) -> int:
    found = _STAMP.match(line)
    return found.end() if found else 0


@lru_cache(maxsize=4)
def pair_cells(line: str) -> tuple[Cell, ...]:
    """The cells that a line of pairs spells, with ``val/`` before the keys when the line begins with such a word.

    ``iter: 10/47`` beside an epoch gives the length of the epoch; alone it gives the planned steps.
    """
    start = _after_stamp(line)
    said, behind = in_words(line, start)
    row = {cell.key: cell for cell in said}
    totals: dict[str, Cell] = {}
    for cell, out_of in find_cells(line, behind):
        if cell.key in row:
            continue
        row[cell.key] = cell
        if out_of is not None:
            totals[cell.key] = out_of
    if not row:
        return ()
    # "Epoch 1, validation: loss=2": what stands before the first measurement says of what data it is.
    first = next((key for key in row if meaning(key).role not in _AXES), "")
    counted = first in totals and _HELD_OUT.fullmatch(first) is not None
    if counted:  # "Validation [10/50] loss: 2.1"
        del row[first], totals[first]
    first = first if is_loss(first) else next(iter(row), "")
    held_out = counted or _HELD_OUT.search(line[start : line.find(first, start)]) is not None
    if held_out:
        row = {cell.key: cell for cell in (_held_out(cell) for cell in row.values())}
    if counts := _TWO_COUNTS.match(line, start):
        # DCGAN and its many children: [epoch/epochs][batch/batches].
        named = (("epoch", 1), ("batch", 3), (EPOCH_LENGTH_KEY, 4))
        row = {key: cell for key, group in named for cell in group_cell(key, counts, group)} | row
    has_epoch = any(meaning(key).role == "epoch" for key in row)
    if has_epoch and not any(meaning(key).role in ("step", "batch") for key in row) and (samples := _SAMPLES.search(line, start)):
        row |= {key: cell for key, group in (("batch", 1), (EPOCH_LENGTH_KEY, 2)) for cell in group_cell(key, samples, group)}
    if not held_out and not any(meaning(key).role in _AXES for key in row) and any(map(is_loss, row)):
        row |= {cell.key: cell for cell in counter(line, start)}
    for key, out_of in totals.items():
        if meaning(key).role in ("step", "batch"):
            total = EPOCH_LENGTH_KEY if has_epoch else "total_steps"
            row[total] = out_of._replace(key=total)
    return tuple(row.values())


def _held_out(cell: Cell) -> Cell:
    return cell if meaning(cell.key).role in _AXES else cell._replace(key=f"val/{cell.key}")
