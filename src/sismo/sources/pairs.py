"""``key: value``, ``key=value`` and ``key value`` inside a line, whatever stands between them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sismo.sources.axis import EPOCH_LENGTH_KEY
from sismo.sources.keys import is_loss, meaning
from sismo.sources.numbers import NUMBER, number

# Numbers are found first and their keys read backwards from them: matching keys forwards tries every word of every sentence.
_VALUE = re.compile(rf"(?<=[\s:=(\[])({NUMBER})(?:\s?/\s*(\d+))?(?:\s?%|([a-zA-Zµ/]{{1,8}}))?(?!\w|\.\d|:\d|-\d)")
_KEY = re.compile(r"(?:[^\W\d][\w./@()%-]* |\([\w./@()%-]* ){0,3}(?:[^\W\d]|@)[\w./@()%-]*$")
_MULTIPLES = {"k": 1e3, "K": 1e3, "M": 1e6}
"""Units of a step counter: ``step 1.5k``."""
_SEPARATORS = " \t:=(["
MAX_KEY = 100
_HELD_OUT = re.compile(r"(?:^|[\s\[(|>*#=-])(val|valid|validation|eval|evaluation|test|testing|dev)(?:[\s\])|:]|$)", re.IGNORECASE)
_SAMPLES = re.compile(r"\[\s*(\d+)\s*/\s*(\d+)")
_TWO_COUNTS = re.compile(r"^\s*\[\s*(\d+)\s*/\s*(\d+)\s*\]\s*\[\s*(\d+)\s*/\s*(\d+)\s*\]")
_STAMP = re.compile(r"^\W{0,2}(?:\d{4}[-/]\d\d[-/]\d\d|\d\d[-/]\d\d)[ T_]\d\d:\d\d:\d\d(?:[.,]\d+)?\S{0,6}\s*")


_AXES = frozenset({"step", "epoch", "batch"})


def find_pairs(text: str) -> Iterator[tuple[str, float, float | None]]:
    """Key, value and, for ``10/47``, what it is out of."""
    end = 0
    for match in _VALUE.finditer(text):
        before, end = text[end : match.start()], match.end()
        key = _KEY.search(before[-MAX_KEY:].rstrip(_SEPARATORS))
        value = number(match[1]) if key is not None else None
        # "…/lr_scheduler.py:28" is a place in a file, whatever its name says.
        if key is not None and value is not None and ".py" not in key[0]:
            if match[3] in _MULTIPLES and meaning(key[0]).role == "step":
                value = float(round(value * _MULTIPLES[match[3]]))
            yield key[0], value, float(match[2]) if match[2] else None


def without_stamp(line: str) -> str:
    """The line without the date and time that it begins with."""
    return _STAMP.sub("", line)


def read_pairs(line: str) -> dict[str, float]:
    """The row that a line of pairs spells, with ``val/`` before the keys when the line begins with such a word.

    ``iter: 10/47`` beside an epoch gives the length of the epoch; alone it gives the planned steps.
    """
    text = without_stamp(line)
    row: dict[str, float] = {}
    totals: dict[str, float] = {}
    for key, value, out_of in find_pairs(text):
        if key in row:
            continue
        row[key] = value
        if out_of is not None:
            totals[key] = out_of
    if not row:
        return row
    # "Epoch 1, validation: loss=2": what stands before the first measurement says of what data it is.
    first = next((key for key in row if meaning(key).role not in _AXES), "")
    first = first if is_loss(first) else next(iter(row))
    if _HELD_OUT.search(text[: text.find(first)]):
        row = {key if meaning(key).role in _AXES else f"val/{key}": value for key, value in row.items()}
    if counts := _TWO_COUNTS.match(text):
        # DCGAN and its many children: [epoch/epochs][batch/batches].
        row = {"epoch": float(counts[1]), "batch": float(counts[3]), EPOCH_LENGTH_KEY: float(counts[4])} | row
    has_epoch = any(meaning(key).role == "epoch" for key in row)
    if has_epoch and not any(meaning(key).role in ("step", "batch") for key in row) and (samples := _SAMPLES.search(text)):
        row["batch"], row[EPOCH_LENGTH_KEY] = float(samples[1]), float(samples[2])
    for key, out_of in totals.items():
        if meaning(key).role in ("step", "batch"):
            row[EPOCH_LENGTH_KEY if has_epoch else "total_steps"] = out_of
    return row
