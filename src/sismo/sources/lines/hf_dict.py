"""Hugging Face and others: ``{'loss': 2.31, 'learning_rate': 5e-05, 'epoch': 0.1}``, alone, glued behind a bar, or several on a line."""

from __future__ import annotations

import re

from sismo.sources.keys import is_loss
from sismo.sources.line import Line, TextLog
from sismo.sources.literals import pairs

_BRACES = re.compile(r"\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}")
_TRAINER_KEYS = frozenset({"train_runtime", "eval_runtime", "learning_rate", "grad_norm", "reward"})


def read(line: str, log: TextLog) -> bool:
    taken = False
    for text in _BRACES.findall(line):
        row = pairs(text)
        if not row or not (any(is_loss(key) for key in row) or ("epoch" in row and _TRAINER_KEYS & row.keys())):
            continue
        log.add(log.with_bar(row))
        taken = True
    return taken


LINE = Line("hf-dict", "{'loss': 2.31, 'grad_norm': 1.2, 'learning_rate': 5e-05, 'epoch': 0.1}", ("':", '":'), 10, read)
