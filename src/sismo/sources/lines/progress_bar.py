"""A plain progress bar, ``20/8720 [01:38<11:01:39, 4.56s/it]``: where the run is, for messages beside it that name no step."""

from __future__ import annotations

import re

from sismo.sources.line import Line, TextLog

_BAR = re.compile(r"(?:^|\d%\|[^|]*\||\d%)\s*(\d+)/(\d+)\s*\[\d[\d:]*<[^\]]*\]")
_DESCRIBED = re.compile(r"^\s*[A-Za-z][^|\[\]]*:\s*\d+%")


def read(line: str, log: TextLog) -> bool:
    if _DESCRIBED.match(line):
        # "Map: 40%|" and "Loading checkpoint shards: 100%|" count something else than steps.
        return False
    bars = _BAR.findall(line)
    for count, total in bars:
        if log.bar is None or float(total) >= log.bar[1]:
            log.bar = (float(count), float(total))
    return bool(bars)


LINE = Line("progress-bar", "  2%|2 | 20/8720 [01:38<11:01:39,  4.56s/it]", ("/s", "s/it"), 1, read, marker=True)
