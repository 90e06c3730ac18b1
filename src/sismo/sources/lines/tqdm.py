"""tqdm with a postfix: ``Epoch 1:  48%|####8     | 223/469 [00:10<00:10, 24.27it/s, loss=4.1634]``.

A bar is redrawn more often than it moves: the same postfix again is no new step, and a new postfix at an old count is the next one.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import cast

from sismo.sources.axis import EPOCH_LENGTH_KEY
from sismo.sources.keys import is_loss
from sismo.sources.line import Line, TextLog
from sismo.sources.pairs import quick_pairs

_BAR = re.compile(
    r"(?P<head>[^%]*?)(?P<percent>\d+)%\|[^|]*\|\s*(?P<count>\d+)/(?P<total>\d+)\s*\[[^,\]]*(?:,[^,\]]*(?:it|s|batch\w*|step\w*|ex\w*)/\w+)?(?P<post>,[^\]]*)?\](?P<after>.*)"
)
_EPOCH = re.compile(r"epoch[\s:#=]*\[?(\d+)", re.IGNORECASE)
_LAST_EPOCH = re.compile(r"^\W*(\d+)\s*/\s*(\d+)\b")
_HELD_OUT = re.compile(r"\b(?:val|valid|validation|validating|eval|evaluating|test|testing)\b", re.IGNORECASE)


@dataclass(slots=True)
class _Seen:
    count: float = -1.0
    total: float = 0.0
    post: str = ""
    step: float = -1.0
    epoch: float = 0.0


def read(line: str, log: TextLog) -> bool:
    found = _BAR.search(line)
    if not found:
        return False
    post = (found["post"] or "").strip(", ") or found["after"].strip(" :,|")
    values = quick_pairs(post)
    if not any(is_loss(key) for key in values):
        return False
    head, count, total = found["head"], float(found["count"]), float(found["total"])
    held_out = bool(_HELD_OUT.search(head))
    seen = cast("_Seen", log.memo.setdefault(f"tqdm-{'val' if held_out else 'train'}", _Seen()))
    epoch = _epoch(head, count, total, seen, log)
    if held_out:
        # Only the end of an evaluation bar is a result; the rest are running means.
        if count == total and (epoch, post) != (seen.epoch, seen.post):
            log.add({"epoch": epoch} | {f"val/{key}": value for key, value in values.items()})
            seen.epoch, seen.post = epoch, post
        return True
    fresh = epoch != seen.epoch or count < seen.count
    # The same NaN at a later count is a later NaN; the same number may be the old one, drawn again.
    lost = count > seen.count and not all(map(math.isfinite, values.values()))
    if not fresh and post == seen.post and not lost:
        seen.count = count
        return True
    step = count if fresh else max(count, seen.step + 1)
    if not fresh and count > seen.step + 1 and count == total:
        step = count
    seen.count, seen.total, seen.post, seen.step, seen.epoch = count, total, post, step, epoch
    log.add({"epoch": epoch, "batch": step, EPOCH_LENGTH_KEY: total} | values)
    return True


def _epoch(head: str, count: float, total: float, seen: _Seen, log: TextLog) -> float:
    """The epoch that a bar names; without a name, bars of the same length that start again count up."""
    named = _EPOCH.search(head) or _LAST_EPOCH.search(head)
    if named:
        return float(named[1])
    if log.epoch is not None:
        return log.epoch
    return seen.epoch + 1 if count < seen.count else seen.epoch


LINE = Line(
    "tqdm", "Epoch 1:  48%|####8     | 223/469 [00:10<00:10, 24.27it/s, loss=4.1634]", ("it/s", "s/it", "batch/s", "step/s", "?"), 15, read
)
