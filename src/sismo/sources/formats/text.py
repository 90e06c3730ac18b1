"""Any other text: every line is offered to the kinds of line in ``lines/``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from sismo.records.types import Note, Run
from sismo.sources.bare import bare, without_bars, without_codes
from sismo.sources.base import Content, Format, Sample, Table
from sismo.sources.cells import Cell, Parsed
from sismo.sources.decimal_comma import decimal_comma, with_points
from sismo.sources.digits import Digits, Ints
from sismo.sources.line import Line, TextLog
from sismo.sources.numbers import may_wrap, unwrapped
from sismo.sources.registry import plugins
from sismo.sources.template import Marked, Said, Template, WayOfReading, into_shape, runs_of, shape_of, template_of

MAX_SHAPES = 5000
MAX_KEYS, MAX_WAYS = 20_000, 16
"""Lines without their digits that are remembered, and the ways in which those of one are read."""
MAX_TEMPLATES = 4
"""Templates of one shape: its lines may differ in digits that belong to names, ``lr0`` and ``lr1``."""
NEVER = -(10**12)
LEARN_AFTER = 4
"""Lines of a shape that are read one by one before a template is learned, which takes about as long."""
MAX_CHARS = 20_000
"""Longer lines hold dumps, not measurements; carriage returns have split progress bars before this."""
_DUMP = "-"
"""What stands for a longer line."""
_FEWEST, _TOGETHER = 64, 8192
"""Lines that are looked at in one go: few where there are new ones among them, and then more and more."""


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
        reader.read(map(with_points, content.lines()) if comma else content.lines(coded=True))
        for kind in reader.everyone:
            kind.finish(log)
        return [log.rows.table()]


class _Shape:
    """The lines that differ in digits only, or in how far a bar is drawn: who might take them, and the templates learned from them.

    Attributes:
        readers: the kinds with a hint in it. markers: those that only mark, without those that have nothing to say of such lines.
        out: names of the readers that said that no line of this shape is theirs. seen: lines since something was learned.
        templates: by their numbers.
    """

    __slots__ = ("markers", "out", "readers", "seen", "templates")

    def __init__(self, wanted: Sequence[Line]) -> None:
        self.readers = [kind for kind in wanted if not kind.marker]
        self.markers = [kind for kind in wanted if kind.marker]
        self.out: set[str] = set()
        self.templates: list[int] = []
        self.seen = 0

    def says_nothing(self) -> bool:
        """Whether nobody takes such a line unless it is inside something."""
        return not self.markers and len(self.out) == len(self.readers)


class _Way(NamedTuple):
    """How lines with their runs of digits in certain places fit a template: which one, those places, and which runs it reads."""

    number: int
    into: tuple[int, ...]
    runs: tuple[int, ...]


class _Key:
    """The lines that are the same without their digits.

    Attributes:
        shape: theirs. ways: how they fit the templates of it. wraps: whether numbers in them may be wrapped in a call.
        empty: whether there is nothing but codes. text: the line where there are no digits in it.
    """

    __slots__ = ("empty", "shape", "text", "ways", "wraps")

    def __init__(self, line: str, shape: _Shape) -> None:
        self.shape, self.wraps, self.empty = shape, may_wrap(line), not line
        self.text = "" if runs_of(line) else line
        self.ways: list[_Way] = []

    def is_silent(self, log: TextLog) -> bool:
        """Whether nobody has anything to say of such a line, here and now, nor ever learns to."""
        if self.empty or log.busy:
            return self.empty
        if self.text and self.text == log.repeated:
            return not self.shape.markers
        return self.shape.says_nothing() and not self.shape.templates


class _Reader:
    """Offers every line to the kinds of line, and remembers how lines of its shape were read."""

    def __init__(self, log: TextLog, everyone: Sequence[Line]) -> None:
        self.log, self.everyone = log, everyone
        self._shapes: dict[str, _Shape] = {}
        self._keys: list[_Key] = []
        self._known: dict[bytes, int] = {}
        self._templates: list[Template] = []
        self._alike: dict[WayOfReading, int] = {}  # the first of the templates that are read so

    def read(self, lines: Iterator[str]) -> None:
        """Reads all lines, more and more of them together as long as none is new."""
        block: Sequence[str] = []
        size = _FEWEST
        while block := block or list(islice(lines, size)):
            done = self._read_block(block[:size])
            size = min(2 * size, _TOGETHER) if done >= size else _FEWEST
            block = block[done:]

    def _read_block(self, lines: Sequence[str]) -> int:
        """Reads lines, up to one that tells how the others can be read; returns how many."""
        if max(map(len, lines)) > MAX_CHARS:
            lines = [line if len(line) <= MAX_CHARS or len(without_codes(line)) <= MAX_CHARS else _DUMP for line in lines]
        digits = Digits(lines)
        keys = self._keys_of(digits, lines)
        if any(self._keys[key].wraps for key in set(keys) if key >= 0):
            lines = [unwrapped(without_codes(line)) for line in lines]
            digits = Digits(lines)
            keys = self._keys_of(digits, lines)
        every = np.array(keys)
        chosen, place, said = self._fitting(digits, every)
        start, repeated = self.log.at_line + 1, self.log.repeated
        silent = [number for number in set(keys) if number >= 0 and self._keys[number].is_silent(self.log)]
        if not silent:
            return self._read_lines(lines, keys, range(start, start + len(lines)), chosen, place, said)
        left = np.flatnonzero((chosen >= 0) | ~np.isin(every, silent))
        empty = [number for number in silent if self._keys[number].empty]
        numbers = start - 1 + np.cumsum(~np.isin(every, empty))
        if left.size:
            heard = cast("list[int]", left.tolist())
            read = self._read_lines(
                [lines[at] for at in heard], [keys[at] for at in heard], numbers[left].tolist(), chosen[left], place[left], said
            )
            # Whoever is inside something may take what was left out behind it, and another heading is none that was repeated.
            if read < left.size or self.log.busy or self.log.repeated != repeated:
                return heard[read - 1] + 1 if read else 0
        self.log.at_line = int(numbers[-1])
        return len(lines)

    def _read_lines(
        self, lines: Sequence[str], keys: Sequence[int], numbers: Sequence[int], chosen: Ints, place: Ints, said: Mapping[int, Said]
    ) -> int:
        """Reads the lines of a block that are left; returns how many, as ``_read_block`` does."""
        rows: list[int] = []  # for each line the one that its numbers go into
        starts = np.concatenate([[0], np.flatnonzero(np.diff(chosen)) + 1])
        known, inside, repeated = len(self._templates), bool(self.log.busy), self.log.repeated
        for stop, number, at in zip([*starts[1:].tolist(), len(lines)], chosen[starts].tolist(), place[starts].tolist(), strict=True):
            while (left := stop - len(rows)) > 0:
                if number >= 0:
                    taken = self.log.take(self._templates[number], lines, numbers, left, said[number], at, rows)
                    at += taken
                    if taken:
                        continue
                    at += 1
                here = len(rows)
                alone = self._read_alone(lines[here], keys[here], numbers[here], rows, fits=number >= 0)
                if alone or len(self._templates) > known or bool(self.log.busy) > inside or self.log.repeated != repeated:
                    break
            if left > 0:
                break
        every = np.array(rows, dtype=np.int64)
        for number, one in said.items():
            into = every[chosen[: len(rows)] == number]
            table = one.table[:, : into.size]
            if (into < 0).any():
                into, table = into[into >= 0], table[:, into >= 0]
            self.log.rows.extend(into, dict(zip(self._templates[number].keys, table, strict=False)))
        self.log.flush()
        return len(rows)

    def _read_alone(self, line: str, number: int, at_line: int, rows: list[int], *, fits: bool) -> bool:
        """Reads one line; or learns, and returns that it did, how lines like it fit a template."""
        key = self._keys[number] if number >= 0 else self._new_key(line)
        if not fits and self._learn_ways(line, key):
            return True
        if not key.empty:
            self.log.at_line = at_line
            if self.log.busy or not key.shape.says_nothing():
                self._ask(without_codes(line), key.shape)
        rows.append(-1)
        return False

    def _keys_of(self, digits: Digits, lines: Sequence[str]) -> list[int]:
        """The number of the key of each line, -1 beyond the most."""
        keys = list(map(self._known.get, digits.shapes))
        if None not in keys:
            return cast("list[int]", keys)
        return [self._key_of(digits.shapes[at], lines[at]) if key is None else key for at, key in enumerate(keys)]

    def _key_of(self, text: bytes, line: str) -> int:
        number = self._known.get(text, -1)
        if number < 0 and len(self._keys) < MAX_KEYS:
            number = self._known[text] = len(self._keys)
            self._keys.append(self._new_key(line))
            self._learn_ways(line, self._keys[number])
        return number

    def _new_key(self, line: str) -> _Key:
        line = without_codes(line)
        text = shape_of(without_bars(line)).lower()
        shape = self._shapes.get(text)
        if shape is None:
            shape = _Shape([kind for kind in self.everyone if any(hint in text for hint in kind.hints)])
            if len(self._shapes) < MAX_SHAPES:
                self._shapes[text] = shape
        return _Key(line, shape)

    def _fitting(self, digits: Digits, keys: Ints) -> tuple[Ints, Ints, dict[int, Said]]:
        """The number of the template that each line is read by, -1 for none; where it stands among the lines of that; and their numbers.

        Those that fit templates that are read alike are read by the first of these, and their numbers are in one table, a row for each key.
        """
        parts: dict[int, list[tuple[Ints, Ints]]] = {}
        order = np.argsort(keys, kind="stable")
        for lines in np.split(order, np.flatnonzero(np.diff(keys[order])) + 1):
            for way in self._keys[keys[lines[0]]].ways if keys[lines[0]] >= 0 else ():
                there = lines[digits.stand(lines, np.array(way.into, dtype=np.int64))]
                if there.size:
                    parts.setdefault(way.number, []).append((there, np.array(way.runs, dtype=np.int64).reshape(-1, 1)))
        chosen, place = np.full(keys.size, -1), np.zeros(keys.size, dtype=np.int64)
        read: dict[int, list[tuple[Ints, NDArray[np.float64]]]] = {}
        # The columns of a table are often those of the one before, and those of another.
        for number in sorted(parts, key=lambda number: (not self.log.holds(self._templates[number]), number)):
            template = self._templates[number]
            lines = np.concatenate([lines for lines, _ in parts[number]])
            runs = np.concatenate([np.repeat(runs, lines.size, axis=1) for lines, runs in parts[number]], axis=1)
            turn = np.flatnonzero(chosen[lines] < 0)
            fits, table = template.read(digits, lines[turn], runs[:, turn])
            lines = lines[turn][fits]
            like = self._alike[template.way_of_reading]
            chosen[lines] = like
            read.setdefault(like, []).append((lines, table))
        said: dict[int, Said] = {}
        for number, found in read.items():
            lines, table = found[0] if len(found) == 1 else (np.concatenate(parts, axis=-1) for parts in zip(*found, strict=True))
            order = np.argsort(lines)
            place[lines[order]] = np.arange(lines.size)
            said[number] = Said(table if (np.diff(order) > 0).all() else table[:, order])
        return chosen, place, said

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
        log = self.log
        shape.seen += 1
        if shape.seen < LEARN_AFTER or log.busy != log.headings.keys() or len(shape.templates) >= MAX_TEMPLATES:
            return
        text = without_bars(line)
        cells, joins, parsed = self._cells(text, reader)
        same = text == line or _written_in(text, cells) == _written_in(line, self._cells(line, reader)[0])
        markers = [marker for marker in shape.markers if marker is not reader]
        marks = {marker: found for marker in markers if marker.settle_run is not None and (found := marker.parse(text)) is not None}
        template = template_of(text, cells, [cell for found in marks.values() for cell in found.cells]) if cells and same else None
        shape.seen = 0 if template is not None else NEVER
        if template is not None and len(self._templates) < MAX_SHAPES:
            template.joins, template.bar, template.stays_open = joins, reader.bar, reader.stays_open
            template.markers = tuple(marker.read for marker in markers if marker not in marks)
            template.marked = tuple(
                Marked(tuple((cell.key, template.row_of(cell)) for cell in found.cells), found.word, marker.settle_run)
                for marker, found in marks.items()
                if marker.settle_run is not None
            )
            template.headings = dict(log.headings)
            if parsed is not None:
                template.settle, template.settle_run, template.word = reader.settle, reader.settle_run, parsed.word
            shape.templates.append(len(self._templates))
            self._alike.setdefault(template.way_of_reading, len(self._templates))
            self._templates.append(template)

    def _cells(self, line: str, reader: Line) -> tuple[Sequence[Cell], bool, Parsed | None]:
        """The numbers that a kind finds in a line, whether they join the row above, and what it parsed where they are to be settled."""
        names = self.log.headings.get(reader.name)
        cells = reader.cells(line) if names is None else reader.under(line, names)
        if cells:
            return cells, False, None
        if cells := reader.more(line):
            return cells, True, None
        parsed = reader.parse(line)
        return (parsed.cells if parsed is not None else ()), False, parsed

    def _learn_ways(self, line: str, key: _Key) -> bool:
        """Learns how a line fits the templates of its shape, which may have been learned from lines with another key; whether it does."""
        if len(key.ways) >= MAX_WAYS or not key.shape.templates:
            return False
        (text, places), runs = bare(line), runs_of(line)
        by_place = {run.start(): (which, run[0]) for which, run in enumerate(runs)}
        left = runs_of(text)
        of_line = [by_place.get(places[run.start()], (-1, "")) for run in left]
        if any(run[0] != same for run, (_, same) in zip(left, of_line, strict=True)):  # there is a code between their digits
            return False
        into, into_text = into_shape(runs, line), into_shape(left, text)
        ways = [
            _Way(number, into, tuple(of_line[run][0] for run in self._templates[number].runs))
            for number in key.shape.templates
            if self._templates[number].into == into_text
        ]
        ways = [way for way in ways if way not in key.ways]
        key.ways += ways
        return bool(ways)


def _written_in(line: str, cells: Sequence[Cell]) -> list[tuple[str, str, float]]:
    return [(cell.key, line[cell.start : cell.end], cell.times) for cell in cells]


FORMAT = Text()
