"""The seven parts in words: headings, paragraphs, lists and tables that Markdown and HTML both draw."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from sismo.incident.types import Gap, Hypothesis, Incident, NewValue, Prescription, Symptom
from sismo.report.language import Language


class Paragraph(NamedTuple):
    """A paragraph; ``strong`` where it is the one to read first."""

    text: str
    strong: bool = False


class Bullets(NamedTuple):
    """A list, with a line over it where it needs one."""

    items: Sequence[str]
    lead: str = ""


class Table(NamedTuple):
    """A table with a head."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]


class Code(NamedTuple):
    """Lines of code or a command."""

    text: str
    kind: str


class Missing(NamedTuple):
    """What a part lacks, and how to get it."""

    what: str
    how: str


class Figures(NamedTuple):
    """The place of the pictures."""

    alt: str


Block = Paragraph | Bullets | Table | Code | Missing | Figures


class Section(NamedTuple):
    """One part: an id that never changes, its heading and what stands under it."""

    id: str
    heading: str
    blocks: Sequence[Block]


def sections(incident: Incident, language: Language) -> list[Section]:
    """The title with the verdict, then the seven parts."""
    word = language.word
    parts: list[tuple[str, str, Callable[[Incident, Language], Iterator[Block]]]] = [
        ("symptoms", word("Symptoms"), _symptoms),
        ("hypotheses", word("Hypotheses"), _hypotheses),
        ("evidence", word("Discriminating evidence"), _evidence),
        ("cause", word("Root cause"), _root),
        ("change", word("The smallest change"), _change),
        ("verification", word("Verification"), _verification),
        ("lesson", word("Lesson"), _lesson),
    ]
    document = incident.document
    title = language.fill("Post-mortem: {name}", name=document.name or document.path)
    opening = Section("verdict", title, list(_opening(incident, language)))
    numbered = [
        Section(name, f"{place}. {heading}", list(write(incident, language))) for place, (name, heading, write) in enumerate(parts, 1)
    ]
    return [opening, *numbered]


def _opening(incident: Incident, language: Language) -> Iterator[Block]:
    document = incident.document
    yield Paragraph(language.say(document.verdict), strong=True)
    yield Bullets([f"{document.path} ({document.source}, {document.preset})", *(language.say(fact) for fact in document.facts)])


def _symptoms(incident: Incident, language: Language) -> Iterator[Block]:
    say = language.say
    rows = [(say(one.name), say(one.value) if one.value else _absent(one, language)) for one in incident.symptoms]
    yield Table((language.word("what"), language.word("measured")), rows)
    if incident.pictures:
        low, high = incident.pictures[0].span
        unit = language.word(incident.document.step_unit)
        yield Figures(language.fill("The window around the onset, {unit} {low} to {high}", unit=unit, low=low, high=high))


def _absent(one: Symptom, language: Language) -> str:
    """What stands in the place of a number that is not there."""
    if one.gap is None:
        return "–"
    return language.fill("missing: {what}. To get it: {how}", what=language.say(one.gap.what), how=language.say(one.gap.how))


def _hypotheses(incident: Incident, language: Language) -> Iterator[Block]:
    word, say = language.word, language.say
    if not incident.hypotheses:
        yield Paragraph(word("None: no sign of a failure was found in what was logged."))
    named = [one for one in incident.hypotheses if one.confidence is not None]
    fallen = [one for one in incident.hypotheses if one.confidence is None]
    if named:
        rows = [
            (str(place), f"{say(one.title)} ({one.id})", _sure(one, language), _panels(one, language), say(one.reason))
            for place, one in enumerate(named, 1)
        ]
        yield Table(("", word("hypothesis"), word("confidence"), word("panel"), word("strongest sign")), rows)
    if fallen:
        rows = [(f"{say(one.title)} ({one.id})", _panels(one, language), say(one.reason)) for one in fallen]
        yield Paragraph(word("Considered and not named:"))
        yield Table((word("hypothesis"), word("panel"), word("why not")), rows)


def _sure(one: Hypothesis, language: Language) -> str:
    said = f"{one.confidence:.2f}"
    if one.origin:
        return said + " " + language.fill("(follows from {id})", id=one.origin)
    return said


def _panels(one: Hypothesis, language: Language) -> str:
    return "; ".join(language.say(panel) for panel in one.panels) or "–"


def _evidence(incident: Incident, language: Language) -> Iterator[Block]:
    word = language.word
    if incident.bearings:
        rows = [
            (language.say(one.said), ", ".join(one.favours) or "–", ", ".join(one.weakens) or "–", ", ".join(one.rules_out) or "–")
            for one in incident.bearings
        ]
        yield Table((word("what was seen"), word("favours"), word("weakens"), word("rules out")), rows)
    else:
        yield Paragraph(word("Nothing that was logged tells one hypothesis from another."))
    for gap in incident.undecided:
        yield _gap(gap, language)


def _root(incident: Incident, language: Language) -> Iterator[Block]:
    root = incident.root
    yield Paragraph(language.say(root.said), strong=True)
    if root.rests_on:
        yield Bullets([language.say(text) for text in root.rests_on], language.word("It rests on:"))
    if root.brought:
        yield Paragraph(language.fill("It brought about: {ids}.", ids=", ".join(root.brought)))
    if root.gap is not None:
        yield _gap(root.gap, language)


def _change(incident: Incident, language: Language) -> Iterator[Block]:
    asked = incident.prescription
    if asked.refused is not None:
        yield Paragraph(language.say(asked.refused.what))
        yield Paragraph(language.say(asked.refused.how))
        return
    if asked.action is not None:
        yield Paragraph(language.say(asked.action), strong=True)
    if asked.probe:
        yield Paragraph(language.word("The check:" if asked.kind == "probe" else "To make sure before:"))
        yield Code(asked.probe, "sh")
        if asked.needs is not None:
            yield Paragraph(language.say(asked.needs))
    steps = prescribed(asked, language)
    if steps:
        yield Bullets(steps, language.word("If it is so:" if asked.kind == "probe" else ""))
    if asked.code:
        yield Code(asked.code, "python")


def prescribed(asked: Prescription, language: Language) -> list[str]:
    """The recipe line by line: where to start, what to skip, what to set."""
    lines = [language.say(asked.start.said)] if asked.start else []
    if asked.skip:
        lines.append(language.say(asked.skip.said))
    return [*lines, *(_value(change, language) for change in asked.changes)]


def _value(change: NewValue, language: Language) -> str:
    title, why = language.say(change.title), language.say(change.why)
    if change.new is None:
        return language.fill("{title}: {rule}. {why}", title=title, rule=language.say(change.said), why=why)
    if change.old is None:
        return language.fill("{title}: {new}. {why}", title=title, new=said(change.new), why=why)
    return language.fill("{title}: {old} → {new}. {why}", title=title, old=said(change.old), new=said(change.new), why=why)


def said(value: float | str | bool) -> str:
    """A value as a configuration would spell it."""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _verification(incident: Incident, language: Language) -> Iterator[Block]:
    word, say = language.word, language.say
    found = incident.verification
    yield Table(
        ("", ""),
        [
            (word("Run again"), say(found.rerun)),
            (word("Expect"), say(found.expect)),
            (word("Within"), say(found.within)),
            (word("Verify with"), say(found.check)),
        ],
    )


def _lesson(incident: Incident, language: Language) -> Iterator[Block]:
    yield Paragraph(language.say(incident.lesson))


def _gap(gap: Gap, language: Language) -> Missing:
    return Missing(language.say(gap.what), language.say(gap.how))
