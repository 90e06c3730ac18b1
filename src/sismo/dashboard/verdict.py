"""The top of the page: what is wrong, since when, what it rests on, what to do first, and which panel cried first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sismo.dashboard.drawing import Shown
from sismo.dashboard.evidence import evidence
from sismo.postmortem import CauseItem, PostMortem
from sismo.report.language import Language
from sismo.report.markup import Markup, join, tag

_MARKS = {"broken": "✖", "warning": "▲", "note": "◆", "healthy": "✔", "unjudged": "?"}

_NOTES = 3
"""Notes of a healthy run that stand at the top; all of them are among the causes."""


def state(document: PostMortem) -> str:
    """``broken``, ``warning``, ``healthy`` or ``unjudged``: what the page is coloured by."""
    if document.healthy is None:
        return "unjudged"
    return "healthy" if document.healthy else document.severity


def verdict(document: PostMortem, shown: Sequence[Shown], language: Language) -> Markup:
    """The first section."""
    name = state(document)
    first = document.causes[0] if document.causes and document.healthy is False else None
    word = {"healthy": language.word("healthy"), "unjudged": language.word("no verdict")}.get(name) or language.word(name)
    facts = tag("ul", *(tag("li", language.say(fact)) for fact in document.facts), class_="facts")
    return tag(
        "section",
        tag("p", tag("span", f"{_MARKS[name]} {word}", class_="badge"), *_measures(first, document, language), class_="kicker"),
        tag("h1", language.say(document.verdict)),
        tag("p", language.say(first.statement), class_="statement") if first else None,
        tag("div", _because(first, document, language), _do(first, language), class_="columns") if first else None,
        *(_worth_knowing(document, language) if document.healthy is not False else ()),
        _cried(shown, document, language),
        facts,
        class_=f"verdict {name}",
    )


def _measures(first: CauseItem | None, document: PostMortem, language: Language) -> list[Markup]:
    if first is None:
        return []
    since = [tag("span", f"{language.word(document.step_unit)} {first.step:,}")] if first.step is not None else []
    return [*since, tag("span", language.fill("confidence {value:.0%}", value=first.confidence))]


def _because(first: CauseItem, document: PostMortem, language: Language) -> Markup:
    return tag("div", tag("h2", language.word("Evidence")), evidence(first.evidence, language, document.step_unit))


def _do(first: CauseItem, language: Language) -> Markup:
    return tag(
        "div",
        tag("h2", language.word("Do first")),
        tag("p", language.say(first.first_action), class_="action"),
        tag("h2", language.word("To confirm")),
        tag("p", language.say(first.confirm)),
    )


def _worth_knowing(document: PostMortem, language: Language) -> Iterator[Markup]:
    """What was found although nothing is broken, each with what it rests on."""
    if document.causes:
        yield tag("h2", language.word("Worth knowing"))
    for cause in document.causes[:_NOTES]:
        title = tag("p", tag("b", language.say(cause.title)), tag("code", cause.id))
        yield tag("div", title, evidence(cause.evidence, language, document.step_unit), class_="worth")


def _cried(shown: Sequence[Shown], document: PostMortem, language: Language) -> Markup:
    """The panels in the order in which they cried."""
    crying = sorted((place for place in shown if place.alarm is not None), key=lambda place: (place.alarm or 0, not place.first))
    if not crying:
        return Markup()
    chips = [
        tag(
            "a",
            tag("b", str(place.panel.number)),
            f" {language.say(place.panel.title)} ",
            tag("span", f"{language.word(document.step_unit)} {place.alarm:,}", class_="where"),
            href=f"#panel-{place.panel.id}",
            class_="chip" + (" first" if place.first else ""),
        )
        for place in crying
    ]
    return tag("p", tag("span", language.word("Which panel cried first"), class_="label"), join(chips, " → "), class_="cried")
