"""Lines that say that a run is taken up again: ``Resuming from checkpoint``, ``resume from 8000``, ``loading checkpoint``."""

from __future__ import annotations

import re

from sismo.sources.line import Line, TextLog

_RESUME = re.compile(
    r"\bresum(?:e|ed|es|ing)\b\s+(?:\w+\s+){0,3}?(?:from|training|at|run)\b|\bresuming\b"
    r"|\b(?:loading|loaded|restored|restoring)\s+(?:\w+\s+)?checkpoint\b(?!\s*shards)"
    r"|\bcheckpoint\b.{0,40}\bsuccessfully loaded\b|\bcontinuing (?:training )?from (?:checkpoint|step|epoch|iteration|global)",
    re.IGNORECASE,
)
_NOT = re.compile(r"\bbest\b|pretrained|shards|weights of|tokenizer|no checkpoint|not found|\bfor (?:test|eval|inference)", re.IGNORECASE)


def read(line: str, log: TextLog) -> bool:
    if len(line) > 400 or not _RESUME.search(line) or _NOT.search(line):
        return False
    log.mark("resume", line=line.strip()[:200])
    return True


LINE = Line("resume", "Resuming from checkpoint ckpt/step_8000.pt", ("resum", "checkpoint", "continuing"), 3, read, marker=True)
