"""Below the panels: every cause with what speaks for it and against it."""

from __future__ import annotations

from collections.abc import Iterator

from sismo.dashboard.evidence import evidence
from sismo.postmortem import CauseItem, PostMortem
from sismo.report.language import Language
from sismo.report.markup import Markup, tag


def causes(document: PostMortem, language: Language) -> Markup:
    """The section; empty when nothing was found."""
    if not document.causes:
        return Markup()
    found = [_cause(cause, document.step_unit, language, first=place == 0) for place, cause in enumerate(document.causes)]
    return tag("section", tag("h2", language.word("Causes")), *found, class_="causes")


def _cause(cause: CauseItem, unit: str, language: Language, *, first: bool) -> Markup:
    where = f"{language.word(unit)} {cause.step:,}" if cause.step is not None else None
    summary = tag(
        "summary",
        tag("span", language.word(cause.severity), class_=f"badge {cause.severity}"),
        tag("b", language.say(cause.title)),
        tag("code", cause.id),
        tag("span", where, class_="where") if where else None,
        tag("span", language.fill("confidence {value:.0%}", value=cause.confidence), class_="where"),
    )
    return tag("details", summary, *_body(cause, unit, language), open=first)


def _body(cause: CauseItem, unit: str, language: Language) -> Iterator[Markup]:
    say, word = language.say, language.word
    yield tag("p", say(cause.statement))
    if cause.consequence_of:
        yield tag("p", word("Follows from"), " ", tag("code", cause.consequence_of))
    for title, items in (
        (word("Evidence"), cause.evidence),
        (word("Against"), cause.against),
        (word("Ruled out"), cause.looked_for),
        (word("Not known"), cause.open),
    ):
        if items:
            yield tag("div", tag("h3", title), evidence(items, language, unit), class_="side")
    yield tag("div", tag("h3", word("Do first")), tag("p", say(cause.first_action)), class_="side")
    if cause.fixes:
        yield tag("div", tag("h3", word("Other fixes")), tag("ul", *(tag("li", say(fix)) for fix in cause.fixes)), class_="side")
    yield tag("div", tag("h3", word("To confirm")), tag("p", say(cause.confirm)), class_="side")
    if cause.counter:
        yield tag("div", tag("h3", word("What would speak against it")), tag("p", say(cause.counter)), class_="side")
    if cause.decider is not None:
        yield tag("div", tag("h3", word("What decides between them")), tag("p", say(cause.decider)), class_="side")
