"""Settings that trainers print before they start: ``fp16 ...... True``, ``Namespace(seed=1, ..)``, ``warmup_steps=100,``, YAML and JSON."""

from __future__ import annotations

import re

from sismo.sources.header import KNOWN_KEYS, LATEST_ROW, MAX_CONFIG
from sismo.sources.line import Line, TextLog

_DOTTED = re.compile(r"(?:^|\])\s*([A-Za-z_]\w*) \.{2,} (\S.*?)\s*$")
_CALL = re.compile(r"(?:Namespace|Config|Args|Arguments|Params)\(")
_ARGUMENT = re.compile(r"([A-Za-z_]\w*)=('[^']*'|\"[^\"]*\"|[^,()\[\]{}=]+)(?=[,)])")
_SETTING = re.compile(r"^[\s|-]*[\"']?(?:--)?([A-Za-z_][\w.]*)[\"']?\s*(?::|=)\s*[\"']?([^\s,\"'{}\[\]()]+)[\"']?,?\s*$")
_SAID = (
    ("total_steps", "steps", re.compile(r"\btotal (?:train\w* |optimization )?steps\s*(?:[:=]|is)?\s*=?\s*([\d,]+)\b", re.IGNORECASE)),
    ("gradient_accumulation_steps", "accumulation", re.compile(r"\bgradient accumulation steps\s*[:=]\s*(\d+)", re.IGNORECASE)),
    ("vocab_size", "vocab_size", re.compile(r"\bvocab_size\s*[:=]\s*(\d+)\b")),
    ("params_dtype", "torch.", re.compile(r"\busing (torch\.\w*float\d*\w*) for parameters", re.IGNORECASE)),
    ("mixed_precision", "mixed_", re.compile(r"\b(mixed_float16|mixed_bfloat16)\b")),
)  # fmt: skip


def read(line: str, log: TextLog) -> bool:
    if log.rows.n_rows > LATEST_ROW:
        return False
    config = log.rows.config
    found = _DOTTED.search(line) if " .." in line else None
    if found:
        if len(config) < MAX_CONFIG:
            config[found[1]] = found[2]
        return True
    if _CALL.search(line):
        for key, value in _ARGUMENT.findall(line):
            if len(config) < MAX_CONFIG:
                config.setdefault(key, value.strip().strip("'\""))
        return True
    found = _SETTING.match(line)
    if found and found[1].rsplit(".", 1)[-1].lower() in KNOWN_KEYS:
        config[found[1]] = found[2]
        return True
    for key, hint, pattern in _SAID:
        if hint in line.lower() and (said := pattern.search(line)) is not None:
            config.setdefault(key, said[1].replace(",", ""))
            return True
    return False


LINE = Line("config-dump", "  fp16 ............................ True",
            (" ..", "namespace(", "config(", "args(", "arguments(", "steps", "iter", "fp", "bf", "dtype", "seed", "clip",
            "norm", "warmup", "precision",
             "vocab", "accum", "scheduler", "float"), 8, read, marker=True)  # fmt: skip
