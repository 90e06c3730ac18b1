"""The end of a run that died: a traceback, the line of the error, CUDA out of memory, a loss scale that cannot fall further."""

from __future__ import annotations

import re

from sismo.sources.line import Line, TextLog

_TRACEBACK = re.compile(r"^\W*(?:\[?rank\d+\]?:?\s*)?Traceback \(most recent call last\)")
_ERROR = re.compile(
    r"^\W*(?:\[?rank\d+\]?:?\s*)?(?:[A-Za-z_][\w.]*(?:Error|Exception|Interrupt)|Exception)\b\s*(?::|$)"
    r"|CUDA out of memory|OutOfMemoryError|RESOURCE_EXHAUSTED|DataLoader worker .{0,40}(?:killed|exited)"
    r"|current loss scale already at minimum|minimum loss scale reached|Segmentation fault"
    r"|Killed$|NCCL (?:error|timeout)|DUE TO TIME LIMIT|oom-kill|watchdog caught collective operation timeout",
    re.IGNORECASE,
)
_RESOURCE = re.compile(r"out of memory|RESOURCE_EXHAUSTED|already at minimum|minimum loss scale", re.IGNORECASE)
_KEPT = 200


def read(line: str, log: TextLog) -> bool:
    text = line.strip()
    traceback = bool(_TRACEBACK.search(text))
    if not traceback and not _ERROR.search(text):
        return False
    last = log.rows.marks[-1] if log.rows.marks else None
    if last is not None and last.kind == "crash" and last.row == log.rows.n_rows:
        # One crash prints many lines, on every rank. The first line that names an error says most, unless a later one names the resource.
        if traceback or not (last.data.get("traceback") or _RESOURCE.search(text)):
            return True
        log.rows.marks.pop()
    log.mark("crash", line=text[:_KEPT], **({"traceback": True} if traceback else {}))
    return True


LINE = Line("crash", "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB",
            ("traceback", "error", "exception", "out of memory", "minimum", "interrupt", "killed", "time limit", "segmentation",
            "watchdog", "oom-kill", "resource_exhausted", "dataloader worker", "nccl"),
            6, read, marker=True)  # fmt: skip
