"""CSV of any dialect: Lightning's metrics.csv, Keras CSVLogger, Ultralytics' padded results.csv, and what people write by hand.

A header that comes again inside the file is another start appended to it.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from sismo.records.types import Run
from sismo.sources.base import Content, Format, Sample, Table
from sismo.sources.keys import meaning
from sismo.sources.long_form import LongForm, is_long
from sismo.sources.numbers import floats, number
from sismo.sources.objects import SPLIT_KEYS, side, split_word
from sismo.sources.rows import RowBuilder
from sismo.sources.tensorboard_export import with_tag
from sismo.sources.wandb_export import by_run, is_export

DELIMITERS = (",", ";", "\t")
_DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+(?:[eE][-+]?\d+)?")
_BARE = re.compile(r"[\w./-]+")
_NO_NAME = re.compile(r"[={}\[\];]|:\s|(?<![\w@:])\d+\.\d|\s\d+$")
"""What stands in no column name but in every second line of a text log."""
MAX_SPACES = 4
MAX_CELL_LINES = 50
"""Lines that one quoted cell may go on for; beyond that the quote is a stray one."""
MAX_PREAMBLE = 30
"""Lines before the header that may be comments or settings."""
HEAD = 8192
_TOGETHER, _FEW = 4096, 16
"""Lines that are read in one go; lines that are read one by one where they cannot be."""


class Csv(Format):
    name = "csv"
    about = "CSV with commas, semicolons or tabs: Lightning, Keras CSVLogger, Ultralytics, wandb exports"

    def score(self, sample: Sample) -> int:
        if not sample.text or sample.is_dir or _is_json(sample.text):
            return 0
        lines = [line for line in _records(iter(sample.text.split("\n"))) if line.strip()]
        if len(sample.head) >= 60_000 and len(lines) > 1:
            lines.pop()
        named = sample.name.endswith((".csv", ".tsv"))
        found = _header_in(lines) or (_odd_header_in(lines) if named else None)
        if found is None:
            return 0
        at, delimiter = found
        width = len(_cells(lines[at], delimiter))
        body = lines[at + 1 : at + 60]
        if not body:
            return 10 if named else 0
        fitting = sum(1 for line in body if line == lines[at] or _is_data(line, delimiter, width))
        if fitting < 0.7 * len(body):
            return 0
        return 88 if named else 75 if width > 1 else 0

    def read(self, content: Content) -> list[Table | Run]:
        path = content.path
        odd = None
        if path is not None and re.search(r"\.[ct]sv(?:\.(?:gz|zstd?))?$", path.name.lower()):
            start = list(islice((line for line in _records(content.lines()) if line.strip()), MAX_PREAMBLE + 60))
            odd = None if _header_in(start) else _odd_header_in(start)
        table = _read(_records(content.lines()), odd)
        if is_export(list(table.columns)):
            return list[Table | Run](by_run(table))
        return [with_tag(table, path.name) if path is not None else table]


def _is_json(text: str) -> bool:
    """Whether no line may be a header because each begins an object. It spares JSON lines what telling quoted cells apart costs."""
    return all(line.lstrip().startswith("{") for line in text[:HEAD].split("\n") if line.strip())


def _records(lines: Iterator[str]) -> Iterator[str]:
    """Lines, joined where a quoted cell goes on over several of them."""
    held: list[str] = []
    for line in lines:
        if not held and '"' not in line:
            yield line
            continue
        held.append(line)
        if sum(part.count('"') for part in held) % 2 == 0:
            yield " ".join(held)
            held = []
        elif len(held) > MAX_CELL_LINES:
            yield from held
            held = []
    yield from held


def _header_in(lines: Sequence[str]) -> tuple[int, str] | None:
    """Where the header is and what separates its cells: of the separators that give a header, the one that gives most cells."""
    for at, line in enumerate(lines[:MAX_PREAMBLE]):
        if line.lstrip().startswith("#") and at + 1 < len(lines):
            continue
        found = [(len(cells), delimiter) for delimiter in DELIMITERS if _is_header(cells := _cells(line, delimiter))]
        width, delimiter = max(found, key=lambda one: one[0], default=(0, ""))
        if width > 1 or (width == 1 and _BARE.fullmatch(line.strip()) and meaning(line).role in ("train", "val")):
            return at, delimiter
    return None


def _odd_header_in(lines: Sequence[str]) -> tuple[int, str] | None:
    """The first line as header although its names are like those of no column (``lr{0}``): what is below must be all numbers."""
    at = next((at for at, line in enumerate(lines) if not line.lstrip().startswith("#")), len(lines))
    body = lines[at + 1 : at + 60]
    for delimiter in DELIMITERS:
        cells = _cells(lines[at], delimiter) if at < len(lines) else []
        known = any(meaning(cell).role != "metric" for cell in cells if cell)
        if len(cells) < 2 or not known or any(number(cell) is not None or len(cell) > 200 for cell in cells):
            continue
        rows = [_cells(line, delimiter) for line in body]
        good = sum(len(row) == len(cells) and all(not cell or number(cell) is not None for cell in row) for row in rows)
        if rows and good >= 0.9 * len(rows):
            return at, delimiter
    return None


def _cells(line: str, delimiter: str) -> list[str]:
    if '"' in line:
        import csv  # rarely needed, and imported by every run otherwise

        try:
            return [cell.strip() for cell in next(csv.reader([line], delimiter=delimiter, skipinitialspace=True), [])]
        except csv.Error:
            return [cell.strip(' "') for cell in line.split(delimiter)]
    return [cell.strip() for cell in line.split(delimiter)]


def _is_header(cells: Sequence[str]) -> bool:
    words = [cell for cell in cells if cell]
    if not words or any(len(cell) > 80 or _NO_NAME.search(cell) for cell in words):
        return False
    if any(number(cell) is not None for cell in words):
        return False
    # A sentence with commas has no name that means anything here, or says too much in one cell.
    return any(meaning(cell).role != "metric" and cell.count(" ") < MAX_SPACES for cell in words)


def _is_data(line: str, delimiter: str, width: int) -> bool:
    cells = _cells(line, delimiter)
    if abs(len(cells) - width) > 1:
        return False
    return any(number(cell) is not None or _DECIMAL_COMMA.fullmatch(cell) for cell in cells)


def _read(lines: Iterator[str], odd: tuple[int, str] | None = None) -> Table:
    """The table. ``odd``: where the header stands, among the lines that are not blank, and its delimiter, when it looks like none."""
    builder = RowBuilder("csv")
    start: list[str] = []
    header: list[str] | None = None
    delimiter = ","
    for line in lines:
        if odd is not None and not line.strip():
            continue
        start.append(line)
        found = _header_in(start[-1:]) if odd is None else odd if len(start) == odd[0] + 1 else None
        if found is not None:
            delimiter = found[1]
            header = _unique(_cells(line, delimiter))
            break
        if len(start) > MAX_PREAMBLE:
            break
    if header is not None and is_long(header):
        _add_points(builder, lines, header, delimiter)
    while header is not None and (block := list(islice(lines, _TOGETHER))):
        header = _add(builder, block, header, delimiter)
    return builder.table("ultralytics" if header is not None and any(cell.startswith("lr/pg") for cell in header) else "")


def _add_points(builder: RowBuilder, lines: Iterator[str], header: Sequence[str], delimiter: str) -> None:
    form = LongForm(header)
    for line in lines:
        cells = _cells(line, delimiter)
        if not form.add(cells, _numbers(cells, header, delimiter)) and cells != header:
            builder.skipped += bool(line.strip())
    form.pour(builder)


def _unique(names: Sequence[str]) -> list[str]:
    """Column names told apart: the second ``loss`` becomes ``loss.1``, as pandas has it."""
    seen: dict[str, int] = {}
    out: list[str] = []
    for name in names:
        out.append(f"{name}.{seen[name]}" if name in seen else name)
        seen[name] = seen.get(name, 0) + 1
    return out


def _add(builder: RowBuilder, block: Sequence[str], header: list[str], delimiter: str) -> list[str]:
    """Adds lines, together where that is safe; returns the header that holds from here on."""
    if len(block) > _FEW and SPLIT_KEYS.isdisjoint(key.lower() for key in header):
        if _add_block(builder, block, header, delimiter):
            return header
        half = len(block) // 2
        return _add(builder, block[half:], _add(builder, block[:half], header, delimiter), delimiter)
    for line in block:
        header = _row(builder, line, header, delimiter)
    return header


def _add_block(builder: RowBuilder, block: Sequence[str], header: Sequence[str], delimiter: str) -> bool:
    """Adds many lines column by column, as ``_row`` does one by one; False, and nothing is added, where it might differ."""
    rows = [_cells(line, delimiter) for line in block] if any('"' in line for line in block) else [line.split(delimiter) for line in block]
    if any(len(row) != len(header) for row in rows):
        return False
    columns = [_column(texts, delimiter) for texts in zip(*rows, strict=True)]
    if not any(places.size == len(block) for places, _ in columns):  # a row may have no number at all
        return False
    for key, (places, values) in zip(header, columns, strict=True):
        builder.extend(builder.n_rows + places, {key or "index": values})
    builder.n_rows += len(block)
    return True


def _column(texts: Sequence[str], delimiter: str) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Where the numbers of a column stand, and the numbers."""
    if texts[0] != texts[0].strip():  # a padded column
        texts = [text.strip() for text in texts]
    with contextlib.suppress(ValueError):
        return np.arange(len(texts)), floats(texts)
    cells = [_value(text.strip(), delimiter) for text in texts]
    there = [place for place, value in enumerate(cells) if value is not None]
    return np.array(there, dtype=np.int64), np.array([cells[place] for place in there], dtype=np.float64)


def _value(cell: str, delimiter: str) -> float | None:
    """The number in a cell, or None; with another delimiter than a comma it may have a decimal comma."""
    if not cell:
        return None
    value = number(cell)
    if (value is None and delimiter != "," and _DECIMAL_COMMA.fullmatch(cell)) or (
        value is not None and "," in cell and delimiter == ";" and cell.count(",") == 1
    ):
        return number(cell.replace(",", "."))
    return value


def _numbers(cells: Sequence[str], header: Sequence[str], delimiter: str) -> dict[str, float]:
    """The numbers of a line by column; those of validation under keys that say so, where a column tells its rows apart."""
    found = {key or "index": value for key, cell in zip(header, cells, strict=False) if (value := _value(cell, delimiter)) is not None}
    word = next((split_word(cell) for key, cell in zip(header, cells, strict=False) if key.lower() in SPLIT_KEYS), "")
    return {side(key, word, found): value for key, value in found.items()} if word else found


def _row(builder: RowBuilder, line: str, header: list[str], delimiter: str) -> list[str]:
    """Adds one line; returns the header that holds from here on."""
    cells = _cells(line, delimiter)
    found = _numbers(cells, header, delimiter)
    if found:
        builder.add(found)
        return header
    if _is_header(cells) and set(cells) & set(header):
        builder.mark("run", name="", header=True)
        return _unique(cells)
    builder.skipped += bool(line.strip())
    return header


FORMAT = Csv()
