"""Any other text: every line is offered to the kinds of line in ``lines/``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from sismo.records.types import Note, Run
from sismo.sources.base import Content, Format, Sample, Table
from sismo.sources.decimal_comma import decimal_comma, with_points
from sismo.sources.line import Line, TextLog
from sismo.sources.numbers import unwrapped
from sismo.sources.registry import plugins

MAX_SHAPES = 5000
_NO_DIGITS = {ord(digit): None for digit in "0123456789"}
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
        interested: dict[str, tuple[list[Line], list[Line]]] = {}
        comma = decimal_comma(content.lines())
        if comma:
            log.rows.notes.append(Note("decimal-comma", "numbers are written with a decimal comma, and were read so"))
        for line in content.lines():
            log.at_line += 1
            if len(line) > MAX_CHARS:
                continue
            line = unwrapped(line)
            if comma:
                line = with_points(line)
            shape = line.lower().translate(_NO_DIGITS)
            asked = interested.get(shape)
            if asked is None:
                asked = _interested(shape, everyone)
                if len(interested) < MAX_SHAPES:
                    interested[shape] = asked
            for marker in asked[0]:
                marker.read(line, log)
            for reader in asked[1]:
                if reader.read(line, log):
                    break
        for kind in everyone:
            kind.finish(log)
        return [log.rows.table()]


def _interested(shape: str, everyone: Sequence[Line]) -> tuple[list[Line], list[Line]]:
    """The markers and the readers with a hint in this line; lines of one kind differ in digits only, so they share the answer."""
    wanted = [kind for kind in everyone if any(hint in shape for hint in kind.hints)]
    return [kind for kind in wanted if kind.marker], [kind for kind in wanted if not kind.marker]


FORMAT = Text()
