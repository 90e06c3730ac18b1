"""Any other text: every line is offered to the kinds of line in ``lines/``."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import cast

from sismo.records.types import Note, Run
from sismo.sources.base import Content, Format, Sample, Table
from sismo.sources.decimal_comma import decimal_comma, with_points
from sismo.sources.line import Line, TextLog
from sismo.sources.numbers import may_wrap, unwrapped
from sismo.sources.registry import plugins
from sismo.sources.template import Template, shape_of, template_of

MAX_SHAPES = 5000
MAX_TEMPLATES = 4
"""Templates of one shape: its lines may differ in digits that belong to names, ``lr0`` and ``lr1``."""
NEVER = -(10**12)
LEARN_AFTER = 4
"""Lines of a shape that are read one by one before a template is learned, which takes about as long."""
MAX_CHARS = 20_000
"""Longer lines hold dumps, not measurements; carriage returns have split progress bars before this."""
_TOGETHER = 4096
"""Lines that are looked at in one go."""


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
        comma = decimal_comma(content.lines())
        if comma:
            log.rows.notes.append(Note("decimal-comma", "numbers are written with a decimal comma, and were read so"))
        reader = _Reader(log, kinds())
        lines = content.lines()
        while block := list(islice(lines, _TOGETHER)):
            if max(map(len, block)) > MAX_CHARS:
                block = [line if len(line) <= MAX_CHARS else "" for line in block]
            reader.read_block([with_points(line) for line in block] if comma else block)
        log.flush()
        for kind in reader.everyone:
            kind.finish(log)
        return [log.rows.table()]


class _Shape:
    """The lines that differ in digits only: who might take them, and the templates that were learned from them.

    Attributes:
        readers: the kinds with a hint in it. markers: those that only mark, without those that have nothing to say of such lines.
        out: names of the readers that said that no line of this shape is theirs. seen: lines since something was learned.
    """

    __slots__ = ("markers", "out", "readers", "seen", "templates")

    def __init__(self, wanted: Sequence[Line]) -> None:
        self.readers = [kind for kind in wanted if not kind.marker]
        self.markers = [kind for kind in wanted if kind.marker]
        self.out: set[str] = set()
        self.templates: list[Template] = []
        self.seen = 0


class _Reader:
    """Offers every line to the kinds of line, and remembers how lines of its shape were read."""

    def __init__(self, log: TextLog, everyone: Sequence[Line]) -> None:
        self.log, self.everyone = log, everyone
        self._shapes: dict[str, _Shape] = {}
        self._last: Template | None = None

    def read_block(self, lines: Sequence[str]) -> None:
        """Reads lines: together while they fit the template that came last, else one by one."""
        text = "\n".join(lines) + "\n"
        if may_wrap(text):
            lines = [unwrapped(line) for line in lines]
            text = "\n".join(lines) + "\n"
        at = place = 0
        while at < len(lines):
            if self._last is not None:
                count, place = self.log.take_run(text, place, self._last.following)
                if count:
                    self._last = self._last.following
                    at += count
                    continue
            self.log.at_line += 1
            self.read(lines[at])
            place += len(lines[at]) + 1
            at += 1

    def read(self, line: str) -> None:
        last = self._last
        if last is not None and self.log.fits(line, last.following):
            self._last = last.following
            return
        text = shape_of(line).lower()
        shape = self._shapes.get(text)
        if shape is None:
            shape = _Shape([kind for kind in self.everyone if any(hint in text for hint in kind.hints)])
            if len(self._shapes) < MAX_SHAPES:
                self._shapes[text] = shape
        for template in shape.templates:
            if self.log.fits(line, template):
                if last is not None:
                    last.following = template
                self._last = template
                return
        self._ask(line, shape)

    def _ask(self, line: str, shape: _Shape) -> None:
        log = self.log
        for marker in tuple(shape.markers):
            if marker.take(line, log) is False:
                shape.markers.remove(marker)
        first = True
        for reader in shape.readers:
            if reader.name in shape.out and reader.name not in log.busy:
                continue
            taken = reader.take(line, log)
            if taken:
                shape.seen += 1
                if first and shape.seen >= LEARN_AFTER and log.busy == log.headings.keys() and len(shape.templates) < MAX_TEMPLATES:
                    self._learn(line, reader, shape)
                return
            if taken is False:
                shape.out.add(reader.name)
            else:
                first = False

    def _learn(self, line: str, reader: Line, shape: _Shape) -> None:
        names = self.log.headings.get(reader.name)
        cells, joins, parsed = reader.cells(line) if names is None else reader.under(line, names), False, None
        if not cells:
            cells, joins = reader.more(line), True
        if not cells and (parsed := reader.parse(line)) is not None:
            cells, joins = parsed.cells, False
        drawn = None if parsed is None else parsed.drawn
        template = template_of(line, cells, drawn=drawn, joins=joins, bar=reader.bar, stays_open=reader.stays_open) if cells else None
        shape.seen = 0 if template is not None else NEVER
        if template is not None and len(self.log.reading) < MAX_SHAPES:
            template.markers = tuple(marker.read for marker in shape.markers)
            template.headings = dict(self.log.headings)
            if parsed is not None:
                template.settle, template.word = reader.settle, parsed.word
            shape.templates.append(template)
            self.log.reading.append(template)


FORMAT = Text()
