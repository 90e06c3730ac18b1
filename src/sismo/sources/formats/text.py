"""Any other text: every line is offered to the kinds of line in ``lines/``."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import islice
from typing import cast

from sismo.records.types import Note, Run
from sismo.sources.base import Content, Format, Sample, Table
from sismo.sources.decimal_comma import decimal_comma, with_points
from sismo.sources.line import Line, TextLog
from sismo.sources.numbers import may_wrap, unwrapped
from sismo.sources.registry import plugins
from sismo.sources.stanza import LONGEST, Stanza, stanza_of
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
        self._lately: deque[Template | None] = deque(maxlen=2 * LONGEST)
        self._stanza: Stanza | None = None
        self._stanzas: dict[tuple[Template, ...], Stanza] = {}

    def read_block(self, lines: Sequence[str]) -> None:
        """Reads lines: together while they fit the template that came last, else one by one."""
        text = "\n".join(lines) + "\n"
        if may_wrap(text):
            lines = [unwrapped(line) for line in lines]
            text = "\n".join(lines) + "\n"
        at = place = 0
        while at < len(lines):
            count, end = self._read_together(text, place)
            if not count:
                self.log.at_line += 1
                count, end = 1, place + len(lines[at]) + 1
                by_template = self._read(lines[at])
                self._lately.append(self._last if by_template else None)
                if by_template:
                    self._find_stanza()
            at, place = at + count, end

    def _read_together(self, text: str, place: int) -> tuple[int, int]:
        """Reads the lines from a place on that come as the last ones did; how many there are, and where they end."""
        if self._stanza is not None:
            count, end = self.log.take_stanza(text, place, self._stanza)
            if count:
                return count, end
            self._stanza = None
        if self._last is None:
            return 0, place
        count, end = self.log.take_run(text, place, self._last.following)
        if count:
            self._last = self._last.following
            self._lately.extend([self._last] * min(count, LONGEST))
            if count == 1:  # a stanza does not end with the same line twice
                self._find_stanza()
        return count, end

    def _find_stanza(self) -> None:
        """Sets the stanza that the last lines are, twice, if they are one."""
        templates = stanza_of(self._lately)
        if templates and templates not in self._stanzas and len(self._stanzas) < MAX_SHAPES:
            self._stanzas[templates] = Stanza(templates)
        self._stanza = self._stanzas.get(templates)

    def _read(self, line: str) -> bool:
        """Reads one line; whether a template did."""
        last = self._last
        if last is not None and self.log.fits(line, last.following):
            self._last = last.following
            return True
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
                return True
        self._ask(line, shape)
        return False

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
                if first:
                    self._learn(line, reader, shape)
                return
            if taken is False:
                shape.out.add(reader.name)
            else:
                first = False
        if first and len(shape.markers) == 1:
            self._learn(line, shape.markers[0], shape)

    def _learn(self, line: str, reader: Line, shape: _Shape) -> None:
        """Learns a template from a line that one kind alone has something to say of, once there were some of its shape."""
        shape.seen += 1
        if shape.seen < LEARN_AFTER or self.log.busy != self.log.headings.keys() or len(shape.templates) >= MAX_TEMPLATES:
            return
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
            template.marks = reader.marker
            template.markers = tuple(marker.read for marker in shape.markers if marker is not reader)
            template.headings = dict(self.log.headings)
            template.joined = self.log.rows.n_rows - 1  # this line has joined it
            if parsed is not None:
                template.settle, template.settle_run, template.word = reader.settle, reader.settle_run, parsed.word
            shape.templates.append(template)
            self.log.reading.append(template)


FORMAT = Text()
