"""fairseq: ``train_inner | epoch 001:  50 / 1000 loss=15.3, num_updates=50, ..`` and ``| epoch 027 | loss 6.343 | num_updates 10198``."""

from __future__ import annotations

import re

from sismo.sources.line import Line, TextLog
from sismo.sources.numbers import NUMBER, number

_INNER = re.compile(r"\bepoch (\d+):\s*(\d+)\s*/\s*(\d+)\s+(.*)")
_SUMMARY = re.compile(r"\bepoch (\d+) \|(.*)")
_EQUALS = re.compile(rf"([\w./-]+)=\s*({NUMBER})")
_SPACED = re.compile(rf"^\s*([\w./ -]+?)\s+({NUMBER})\s*$")
_VALID = re.compile(r"\bvalid(?:ation)? on ['\"]?(\S+?)['\"]? subset", re.IGNORECASE)


def read(line: str, log: TextLog) -> bool:
    found = _INNER.search(line)
    if found:
        row = {key: cell for key, value in _EQUALS.findall(found[4]) if (cell := number(value)) is not None}
        if "loss" not in row:
            return False
        row["epoch"] = float(found[1])
        if "num_updates" not in row:
            row["batch"] = float(found[2])
        log.add(row)
        return True
    found = _SUMMARY.search(line)
    ours = found is not None and ("num_updates" in line or "gnorm" in line or _VALID.search(line) is not None)
    return found is not None and ours and _summary(float(found[1]), found[2], log)


def _summary(epoch: float, text: str, log: TextLog) -> bool:
    valid = _VALID.search(text)
    row: dict[str, float] = {}
    for field in text.split("|"):
        pair = _SPACED.match(field)
        value = number(pair[2]) if pair else None
        if pair and value is not None:
            row[_name(pair[1], valid is not None)] = value
    if not any("loss" in key and "scale" not in key for key in row):
        return False
    log.add({"epoch": epoch, **row})
    return True


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
)
