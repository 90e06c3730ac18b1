"""TensorFlow's object detection API: ``Step 100 per-step time 0.51s`` and then ``'Loss/total_loss': 1.2,`` one a line, or ``loss=1.2``."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sismo.sources.cells import Cell, Parsed, group_cell
from sismo.sources.line import Line, TextLog
from sismo.sources.numbers import NUMBER, number

_HEADER = re.compile(rf"\bStep (\d+) per-step time (?:[\d.]+s(?: loss=({NUMBER}))?)?")
_METRIC = re.compile(r"""^\W*(?:INFO:tensorflow:)?\W*'([\w/ ]+)':\s*([^,}\s]+)[,}]?\s*$""")


def parse(line: str) -> Parsed | None:
    found = _HEADER.search(line)
    return Parsed([*group_cell("step", found, 1), *group_cell("loss", found, 2)]) if found else None


def settle(row: dict[str, float], _: str, log: TextLog) -> None:
    # The same line comes twice, once from the library's own logger.
    if log.memo.get("tf-detection") != row["step"]:
        log.memo["tf-detection"] = row["step"]
        log.add(row, open_row=True)


def more(line: str) -> Sequence[Cell]:
    found = _METRIC.match(line)
    return list(group_cell(found[1], found, 2)) if found and number(found[2]) is not None else ()


LINE = Line("tf-detection", "Step 100 per-step time 0.512s then  'Loss/total_loss': 1.2,",
            ("per-step time", "'loss/", "'learning_rate':"), 9,
            parse=parse, settle=settle, more=more)  # fmt: skip
