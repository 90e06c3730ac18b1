"""The end of the page: what was not checked, how the log was read, and what is known of the run besides its numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import cast

from sismo.dashboard.sampling import Whole
from sismo.postmortem import PostMortem
from sismo.records.types import Run
from sismo.report.language import Language
from sismo.report.markup import Markup, tag

_VALUE = 400
"""Letters of one value of the configuration."""
_ROWS = 400
"""Rows of a table at most: a log with ten thousand metrics is still one page."""


def reading(document: PostMortem, run: Run, language: Language, whole: Whole) -> Markup:
    """The sections below the causes. ``whole`` says which flagged steps are drawn in full."""
    return tag(
        "section",
        _unchecked(document, language),
        _notes(document, language, whole),
        tag("details", tag("summary", language.word("Manifest")), _table(_manifest(run))),
        tag("details", tag("summary", language.word("Channels")), _channels(run, language)),
        class_="reading",
    )


def _unchecked(document: PostMortem, language: Language) -> Markup:
    hows = dict.fromkeys(language.say(item.how) for item in document.unknown)
    if not hows:
        return Markup()
    rows = [
        (how, ", ".join(dict.fromkeys(language.say(item.missing) for item in document.unknown if language.say(item.how) == how)))
        for how in hows
    ]
    return tag("div", tag("h2", language.word("Not checked")), tag("ul", *(tag("li", how, ": ", tag("code", what)) for how, what in rows)))


def _notes(document: PostMortem, language: Language, whole: Whole) -> Markup:
    notes = list(dict.fromkeys(language.say(note) for note in document.notes))
    if whole.partly:
        said = language.fill(
            "Around {count} flagged steps only the loss, the LR, the gradient norm and what is flagged are drawn row by row; "
            "with every channel the page would be too large.",
            count=whole.partly,
        )
        notes.append(said)
    if whole.left:
        said = language.fill(
            "Around {count} flagged steps only the outline is drawn; row by row the page would be too large.", count=whole.left
        )
        notes.append(said)
    return (
        tag("div", tag("h2", language.word("Notes on the reading")), tag("ul", *(tag("li", note) for note in notes))) if notes else Markup()
    )


def _manifest(run: Run) -> Iterator[tuple[str, str]]:
    yield "path", run.path
    for name, value in run.header._asdict().items():
        if name != "config" and value not in (None, ""):
            yield name, str(value)
    yield from _flat("", run.header.config)


def _flat(prefix: str, config: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    for key, value in config.items():
        if isinstance(value, Mapping) and len(prefix) < _VALUE:
            yield from _flat(f"{prefix}{key}.", cast("Mapping[str, object]", value))
        else:
            yield f"{prefix}{key}", str(cast("object", value))


def _channels(run: Run, language: Language) -> Markup:
    return _table(
        (name, f"{len(one):,} {language.word('rows')}" + (f" · {one.source_key}" if one.source_key else ""))
        for name, one in run.series.items()
    )


def _table(rows: Iterator[tuple[str, str]]) -> Markup:
    cells = [
        tag("tr", tag("th", _clipped(name), scope="row"), tag("td", _clipped(value)))
        for (name, value), _ in zip(rows, range(_ROWS), strict=False)
    ]
    return tag("div", tag("table", tag("tbody", *cells)), class_="scroll")


def _clipped(text: str) -> str:
    return text if len(text) <= _VALUE else text[: _VALUE - 1] + "…"
