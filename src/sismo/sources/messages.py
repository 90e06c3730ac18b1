"""Text logs that a container or a logger wrapped in JSON, a line each: ``{"log": "step 10 loss 2.3\\n", "stream": "stdout", ...}``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import cast

from sismo.sources.base import Content, Sample
from sismo.sources.keys import is_loss

_TEXTS = ("log", "message", "msg", "textPayload", "MESSAGE", "text", "event", "line")
"""Under which Docker, Kubernetes, journald, Google Cloud, loguru, structlog and their kin keep what was printed."""
_LOOKED_AT = 40
_SHARE = 0.8


def key_of_text(sample: Sample) -> str:
    """Under which key of its lines the log is; empty where the lines are no such objects, or measure something themselves."""
    lines = [line for line in sample.text.split("\n")[: _LOOKED_AT + 1] if line.strip()][:_LOOKED_AT]
    records = [record for record in map(_record, lines) if record is not None]
    if len(records) < 2 or len(records) < _SHARE * len(lines):
        return ""
    if any(is_loss(key) and not isinstance(value, str) for record in records for key, value in record.items()):
        return ""
    words = {key: [str(record[key]) for record in records if isinstance(record.get(key), str)] for key in _TEXTS}
    return next((key for key, texts in words.items() if len(texts) >= _SHARE * len(records) and any("loss" in text for text in texts)), "")


class Messages(Content):
    """What was printed, out of the objects that hold it; lines that are no objects stay as they are."""

    def __init__(self, wrapped: Content, key: str) -> None:
        self.label, self.path, self.plain = wrapped.label, wrapped.path, False
        self._wrapped, self._key = wrapped, key

    def data(self) -> bytes:
        return self.text().encode("utf-8", "surrogatepass")

    def text(self) -> str:
        return "\n".join(self.lines())

    def lines(self, *, coded: bool = False) -> Iterator[str]:
        for line in self._wrapped.lines(coded=coded):
            yield from printed(line, self._key)


def printed(line: str, key: str) -> list[str]:
    """The lines that one object holds."""
    record = _record(line)
    text = line if record is None else str(record.get(key, ""))
    return [part for part in text.replace("\r", "\n").split("\n") if part]


def _record(line: str) -> dict[str, object] | None:
    try:
        found = json.loads(line) if line.startswith("{") else None
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, object]", found) if isinstance(found, dict) else None
