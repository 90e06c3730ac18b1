"""Two runs on one page: where each series parts, as buttons that zoom there, and what was configured differently."""

from __future__ import annotations

from sismo.compare import Comparison, Parting
from sismo.dashboard.alarms import owner_of
from sismo.dashboard.registry import panels
from sismo.report.language import Language
from sismo.report.markup import Markup, tag

_ROWS = 200
_VALUE = 200


def comparison(found: Comparison, verdict: str, language: Language) -> Markup:
    """The section; ``verdict`` is the sentence that sums it up."""
    word = language.word
    order = sorted(found.series, key=lambda one: (one.parts is None, one.parts or 0, one.differs is None, one.differs or 0))
    head = tag(
        "tr",
        *(tag("th", name, scope="col") for name in (word("channel"), word("differs"), word("parts"), word("last in A"), word("last in B"))),
    )
    table = tag("table", tag("thead", head), tag("tbody", *(_row(one, language) for one in order[:_ROWS])))
    return tag(
        "section",
        tag("h2", word("A and B"), id="compared"),
        tag("p", tag("b", "A "), tag("code", found.a), tag("br"), tag("b", "B "), tag("code", found.b)),
        tag("p", verdict, class_="action"),
        tag("div", table, class_="scroll"),
        *(_only(label, names) for label, names in ((word("only in A"), found.only_a), (word("only in B"), found.only_b)) if names),
        _settings(found, language),
        class_="compared",
        aria_labelledby="compared",
    )


def _row(one: Parting, language: Language) -> Markup:
    cells = [language.word("same") if one.differs is None else _step(one, one.differs), "–" if one.parts is None else _step(one, one.parts)]
    if not one.rows:
        cells = [language.word("no common step"), ""]
    return tag(
        "tr", tag("th", one.channel, scope="row"), *(tag("td", cell) for cell in cells), *(tag("td", f"{value:.4g}") for value in one.last)
    )


def _step(one: Parting, step: int) -> Markup:
    owner = owner_of(one.channel, panels())
    return tag("button", tag("span", f"{step:,}"), type="button", class_="zoom", data_start=step, data_panel=owner.id if owner else None)


def _only(label: str, names: tuple[str, ...]) -> Markup:
    return tag("p", f"{label}: ", tag("code", ", ".join(names[:_ROWS])))


def _settings(found: Comparison, language: Language) -> Markup:
    if not found.settings:
        return tag("p", language.word("Nothing was configured differently, as far as both say."))
    rows = [
        tag(
            "tr",
            tag("th", one.name[:_VALUE], scope="row"),
            *(tag("td", "–" if value is None else value[:_VALUE]) for value in (one.a, one.b)),
        )
        for one in found.settings[:_ROWS]
    ]
    head = tag("tr", *(tag("th", name, scope="col") for name in (language.word("Configured differently"), "A", "B")))
    return tag("div", tag("table", tag("thead", head), tag("tbody", *rows)), class_="scroll")
