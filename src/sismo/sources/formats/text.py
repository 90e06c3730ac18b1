"""Any other text: every line is offered to the kinds of line in ``lines/``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from sismo.records.types import Run
from sismo.sources.base import Content, Format, Sample, Table
from sismo.sources.line import Line, TextLog
from sismo.sources.registry import plugins

MAX_CHARS = 20_000
"""Longer lines hold dumps, not measurements; carriage returns have split progress bars before this."""


def kinds() -> tuple[Line, ...]:
    """Every kind of line, in the order in which they are asked."""
    return tuple(sorted(cast("tuple[Line, ...]", plugins("sismo.sources.lines", "LINE")), key=lambda kind: kind.order))


class Text(Format):
    name = "text"
    about = "text output of a trainer: Hugging Face, Megatron-LM, DeepSpeed, fairseq, nanoGPT, llm.c, detectron2, Keras, tqdm and others"

    def score(self, sample: Sample) -> int:
        return 10 if sample.text.strip() else 0

    def read(self, content: Content) -> list[Table | Run]:
        log = TextLog(self.name)
        everyone = kinds()
        markers = [(kind, kind.hints) for kind in everyone if kind.marker]
        readers = [(kind, kind.hints) for kind in everyone if not kind.marker]
        for line in content.lines():
            log.at_line += 1
            if len(line) <= MAX_CHARS:
                _offer(line, log, markers, readers)
        for kind in everyone:
            kind.finish(log)
        return [log.rows.table()]


def _offer(
    line: str, log: TextLog, markers: Sequence[tuple[Line, tuple[str, ...]]], readers: Sequence[tuple[Line, tuple[str, ...]]]
) -> None:
    low = line.lower()
    for kind, hints in markers:
        for hint in hints:
            if hint in low:
                kind.read(line, log)
                break
    for kind, hints in readers:
        for hint in hints:
            if hint in low:
                if kind.read(line, log):
                    return
                break


FORMAT = Text()
