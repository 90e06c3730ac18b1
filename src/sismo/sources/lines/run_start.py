"""Headings under which another fit starts: ``Fold 2/5``, ``Running X experiment``, ``Training CNN9 (eta=0.25)``, ``Trial 3``."""

from __future__ import annotations

import re

from sismo.sources.line import Line, TextLog

_NUMBERED = re.compile(
    r"^\W*\b(fold|trial|run|experiment|seed|subject|split|repeat|repetition)\b\s*[:#=]?\s*(\d+)\s*((?:/|of)\s*\d+)?\b", re.IGNORECASE
)
_SENTENCE = re.compile(
    r"^\W*(running\b.{2,100}\b(?:experiments?|training|trial)\b.*"
    r"|training\s+[A-Z][\w-]*\s*(?:\(.+\)|with\b.+)|(?:start(?:ing)?|begin(?:ning)?)\s+(?:experiment|fold|trial|run)\b.*)$",
    re.IGNORECASE,
)
_SET = re.compile(r"^\W*\w+\s*[:=]")
"""``seed: 42`` is a setting; ``Seed 3/5`` is a heading."""
_LOSS = re.compile(r"\bloss\b|\bcost\b|\bepoch\b", re.IGNORECASE)


def read(line: str, log: TextLog) -> bool | None:
    if len(line) > 300:
        return False
    found = _NUMBERED.match(line)
    if found and not (found[1].lower() in ("seed", "run", "split") and _SET.match(line)):
        kind, name = found[1].lower(), f"{found[1].lower()} {found[2]}"
        # The heading is often repeated on every line of its fit: only a change of number starts another.
        if log.memo.get(f"run-{kind}") == name:
            return None
        log.memo[f"run-{kind}"] = name
        log.mark("run", name=name, strong=True)
        return True
    found = _SENTENCE.match(line)
    if found and not _LOSS.search(line):
        for key in [key for key in log.memo if key.startswith("run-")]:
            del log.memo[key]
        log.mark("run", name=found[1].strip()[:80], strong=True)
        log.epoch = None
        return True
    return False


LINE = Line("run-start", "Fold 2/5", ("fold", "trial", "run", "experiment", "seed", "subject", "training", "split", "repeat",
    "start", "begin"), 4, read,
            marker=True)  # fmt: skip
