"""What was read from a log and how: the table to look at before believing any verdict about it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np

from sismo.records.types import Run, Series
from sismo.report.page import Page

SCHEMA = "sismo.series/1"
_NARROWEST = 12
"""Columns that the names of channels get at least, where the numbers leave them; a longer name stands above its numbers."""


@dataclass(frozen=True, slots=True)
class Row:
    """One channel in numbers. ``low`` and ``high`` are over the finite values; None where there are none."""

    channel: str
    source_key: str
    rows: int
    start: int | None
    end: int | None
    interval: float
    first: float | None
    last: float | None
    low: float | None
    high: float | None
    nan: int
    inf: int


def row(series: Series) -> Row:
    """The numbers of a channel."""
    values, some = series.values, len(series) > 0
    finite = values[np.isfinite(values)]
    return Row(
        channel=series.channel,
        source_key=series.source_key,
        rows=len(series),
        start=int(series.steps[0]) if some else None,
        end=int(series.steps[-1]) if some else None,
        interval=series.interval,
        first=float(values[0]) if some else None,
        last=float(values[-1]) if some else None,
        low=float(finite.min()) if finite.size else None,
        high=float(finite.max()) if finite.size else None,
        nan=int(np.isnan(values).sum()),
        inf=int(np.isinf(values).sum()),
    )


def render(run: Run, page: Page) -> str:
    """The table, the header, the events by kind and the notes of one run."""
    return "\n".join(line.rstrip() for line in _lines(run, page))


def render_json(runs: Sequence[Run], version: str) -> str:
    """The same as data, strict: a first or last value that is not finite is written as a string."""
    return json.dumps({"schema": SCHEMA, "sismo": version, "runs": [_data(run) for run in runs]}, indent=2, allow_nan=False, default=str)


def _lines(run: Run, page: Page) -> Iterator[str]:
    word = page.word
    yield page.heading(run.path + (f" [{run.header.name}]" if run.header.name else ""), run.header.source)
    yield ""
    titles = [
        word("channel"),
        word("rows"),
        word(run.header.step_unit),
        word("every"),
        word("first"),
        word("last"),
        word("min"),
        word("max"),
    ]
    cells = [_cells(row(series), page) for series in run.series.values()]
    widths = [max(len(line[column]) for line in [titles, *cells]) for column in range(len(titles))]
    gap = 2 if sum(widths[1:]) + 2 * len(widths) + _NARROWEST <= page.width else 1
    widths[0] = max(len(titles[0]), min(widths[0], page.width - sum(widths[1:]) - gap * (len(widths) - 1) - 2))
    yield page.paint("  " + _aligned(titles, widths, gap), "dim")
    for series, line in zip(run.series.values(), cells, strict=True):
        if len(line[0]) > widths[0]:
            yield "  " + line[0]
            line = ["", *line[1:]]
        yield "  " + _aligned(line, widths, gap)
        entry = row(series)
        plain = {"", series.channel, series.channel.partition("/")[2]}
        said = [] if series.source_key in plain else [page.language.fill("from {key}", key=series.source_key)]
        said += [f"{count} {name}" for name, count in (("NaN", entry.nan), ("Inf", entry.inf)) if count]
        if said:
            yield page.paint("    " + page.clip(", ".join(said), page.width - 4), "dim")
    yield from _facts(run, page)


def _facts(run: Run, page: Page) -> Iterator[str]:
    """Header, events and notes."""
    known = _header(run)
    if known:
        yield from ("", page.heading(page.word("Known of the run")))
        yield from page.hang("  ", ", ".join(f"{name} {value}" for name, value in known.items()))
    kinds = dict.fromkeys(event.kind for event in run.events)
    if kinds:
        yield from ("", page.heading(page.word("Events")))
        for kind in kinds:
            events = run.events_of(kind)
            yield "  " + page.language.fill(
                "{count} {kind}, step {start} to {end}", count=len(events), kind=kind, start=events[0].step, end=events[-1].step
            )
    if run.notes:
        yield from ("", page.heading(page.word("Notes on the reading")))
        for note in run.notes:
            yield from page.hang(f"  {page.mark('bullet')} ", page.language.fill(note.text, **note.numbers))


def _cells(entry: Row, page: Page) -> list[str]:
    span = f"{_whole(entry.start)} {page.mark('between')} {_whole(entry.end)}"
    return [
        entry.channel,
        str(entry.rows),
        span,
        f"{entry.interval:g}",
        *(_number(v) for v in (entry.first, entry.last, entry.low, entry.high)),
    ]


def _aligned(cells: Sequence[str], widths: Sequence[int], gap: int) -> str:
    name, *numbers = cells
    return (" " * gap).join([f"{name:<{widths[0]}}", *(f"{cell:>{width}}" for cell, width in zip(numbers, widths[1:], strict=True))])


def _whole(step: int | None) -> str:
    return "" if step is None else str(step)


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.3g}" if math.isfinite(value) else ("NaN" if math.isnan(value) else ("Inf" if value > 0 else "-Inf"))


def _header(run: Run) -> Mapping[str, object]:
    """The fields of the header that are known, without the configuration as a whole."""
    entries = run.header._asdict()
    return {name: value for name, value in entries.items() if value is not None and name not in {"config", "source", "name"}}


def _data(run: Run) -> Mapping[str, object]:
    return {
        "path": run.path,
        "name": run.header.name,
        "source": run.header.source,
        "header": _header(run),
        "channels": [_strict(row(series)) for series in run.series.values()],
        "events": [{"step": event.step, "kind": event.kind} for event in run.events],
        "notes": [{"code": note.code, "text": str(note)} for note in run.notes],
    }


def _strict(entry: Row) -> Mapping[str, object]:
    cells = {field.name: getattr(entry, field.name) for field in fields(entry)}
    return {name: _number(value) if isinstance(value, float) and not math.isfinite(value) else value for name, value in cells.items()}
