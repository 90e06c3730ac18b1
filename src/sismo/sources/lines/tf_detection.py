"""TensorFlow's object detection API: ``Step 100 per-step time 0.51s`` and then ``'Loss/total_loss': 1.2,`` one a line."""

from __future__ import annotations

import re

from sismo.sources.line import Line, TextLog
from sismo.sources.numbers import number

_HEADER = re.compile(r"\bStep (\d+) per-step time ")
_METRIC = re.compile(r"""^\W*(?:INFO:tensorflow:)?\W*'([\w/ ]+)':\s*([^,}\s]+)[,}]?\s*$""")


def read(line: str, log: TextLog) -> bool | None:
    found = _HEADER.search(line)
    if found:
        # The same line comes twice, once from the library's own logger.
        if log.memo.get("tf-detection") != found[1]:
            log.memo["tf-detection"] = found[1]
            log.add({"step": float(found[1])}, open_row=True)
        return True
    found = _METRIC.match(line)
    value = number(found[2]) if found else None
    if found is None or value is None:
        return False
    return log.attach({found[1]: value}) or None


LINE = Line("tf-detection", "Step 100 per-step time 0.512s then  'Loss/total_loss': 1.2,",
            ("per-step time", "'loss/", "'learning_rate':"), 9, read)  # fmt: skip
