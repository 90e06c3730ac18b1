"""The command that a run was started with: ``torchrun train.py --dtype=float16 --lr_scheduler_type cosine``, on one line or on several."""

from __future__ import annotations

import re

from sismo.sources.header import KNOWN_KEYS, LATEST_ROW, MAX_CONFIG
from sismo.sources.line import Line, TextLog

_STARTED = re.compile(r"\b(?:python[\d.]*|torchrun|deepspeed|accelerate launch|srun|mpirun|fairseq-train|llamafactory-cli|swift)\b")
_OPTION = re.compile(r"(?:^|\s)--([A-Za-z][\w.-]*)(?:(?:=|\s+)(?!--)[\"']?([^\s\"'\\\\]+))?")
_CONTINUED = re.compile(r"\s*--[A-Za-z]")
_FLAGS = frozenset({"fp16", "bf16", "amp"})
"""Options that say something by being there."""


def read(line: str, log: TextLog) -> bool:
    """Keeps the options that say something of a run, where the line starts one or goes on with its options."""
    if log.rows.n_rows > LATEST_ROW or not (_STARTED.search(line) or _CONTINUED.match(line)):
        return False
    config = log.rows.config
    for name, value in _OPTION.findall(line):
        key = name.replace("-", "_")
        known = key.rsplit(".", 1)[-1].lower()
        if len(config) < MAX_CONFIG and ((value and known in KNOWN_KEYS) or known in _FLAGS):
            config.setdefault(key, value or "true")
    return True


LINE = Line("command-line", "torchrun train.py --dtype=float16 --lr_scheduler_type cosine", ("--",), 9, read, marker=True)
