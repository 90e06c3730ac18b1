"""The walked path as a picture: one row for each section of a tree, one node for each question, marked yes, no or unknown.

The mark is a letter and a shape as well as a colour, so that it can be read in print and by whoever does not see the colour.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from sismo.dashboard.evidence import evidence, zoom
from sismo.postmortem import PostMortem, WalkItem
from sismo.report.language import Language
from sismo.report.markup import Markup, tag

_WIDTH, _ROW, _TOP = 380, 46, 8
_SPINE, _FIRST, _GAP, _RADIUS = 10, 34, 30, 10
_PER_ROW = 12
_LABEL = 52


def picture(document: PostMortem, language: Language) -> Markup:
    """The section with a picture of each tree, the legend, and all questions as a list; empty without a walk."""
    if not document.walk:
        return Markup()
    leads = _leading(document)
    trees = [_tree(list(items), leads, language) for _, items in groupby(document.walk, key=lambda item: item.id[:1])]
    legend = tag("p", *(_key(answer, language) for answer in ("yes", "no", "unknown")), class_="legend")
    chosen = tag("div", *_first_shown(document, leads, language), class_="chosen", id="chosen", tabindex=-1, aria_live="polite")
    every = tag("details", tag("summary", language.word("All questions, with what they rest on")), *_questions(document, language))
    heading = tag("h2", language.word("The path"), id="path-title")
    return tag(
        "section",
        tag("div", heading, legend, class_="head"),
        tag("div", *trees, chosen, class_="trees"),
        every,
        class_="path",
        aria_labelledby="path-title",
    )


def _leading(document: PostMortem) -> set[str]:
    """Ids of the questions that led to the first cause: answered yes by what it rests on, or by the same rows."""
    rests = document.causes[0].evidence if document.causes and document.healthy is False else ()
    signals = {item.signal for item in rests}
    places = {(item.channel, item.start) for item in rests if item.channel and item.start is not None}
    return {
        item.id
        for item in document.walk
        if item.answer == "yes" and any(piece.signal in signals or (piece.channel, piece.start) in places for piece in item.evidence)
    }


def _first_shown(document: PostMortem, leads: set[str], language: Language) -> Iterator[Markup]:
    """What stands beside the picture before a node is chosen: the questions that led to the verdict."""
    yield tag("p", language.word("Choose a node to see its question and what the answer rests on."), class_="asks")
    for item in document.walk:
        if item.id in leads:
            yield tag("div", _asked(item, language), evidence(item.evidence, language, document.step_unit))


def _key(answer: str, language: Language) -> Markup:
    dot = tag("svg", *_dot(answer, 10, 10, language), width=20, height=20, aria_hidden="true")
    return tag("span", tag("span", dot, class_=f"node {answer}"), language.word(answer))


def _tree(items: Sequence[WalkItem], leads: set[str], language: Language) -> Markup:
    rows = [
        (name, chunk)
        for name, section in groupby(items, key=lambda item: item.section)
        for chunk in _chunks(list(section))
    ]  # fmt: skip
    height = _TOP + _ROW * len(rows)
    parts = [tag("line", x1=_SPINE, x2=_SPINE, y1=_TOP, y2=height - _ROW + 28, class_="rail")]
    walked = [place for place, (_, chunk) in enumerate(rows) if any(item.id in leads for item in chunk)]
    if walked:
        parts.append(tag("line", x1=_SPINE, x2=_SPINE, y1=_TOP, y2=_TOP + walked[-1] * _ROW + 28, class_="rail walked"))
    for place, (name, chunk) in enumerate(rows):
        parts += _row(language.say(name), chunk, _TOP + place * _ROW, leads, language)
    label = language.fill("{count} {count:question|questions}", count=len(items))
    return tag("svg", *parts, viewBox=f"0 0 {_WIDTH} {height}", width=_WIDTH, height=height, role="group", aria_label=label)


def _chunks(section: list[WalkItem]) -> Iterator[list[WalkItem]]:
    for start in range(0, len(section), _PER_ROW):
        yield section[start : start + _PER_ROW]


def _row(name: str, chunk: Sequence[WalkItem], top: int, leads: set[str], language: Language) -> Iterator[Markup]:
    middle = top + 28
    shown = name if len(name) <= _LABEL else name[: _LABEL - 1] + "…"
    yield tag("text", shown, x=_FIRST - _RADIUS, y=top + 11, class_="section")
    yield tag("line", x1=_SPINE, x2=_FIRST + _GAP * (len(chunk) - 1), y1=middle, y2=middle, class_="rail")
    last = max((place for place, item in enumerate(chunk) if item.id in leads), default=None)
    if last is not None:
        yield tag("line", x1=_SPINE, x2=_FIRST + _GAP * last, y1=middle, y2=middle, class_="rail walked")
    yield tag("circle", cx=_SPINE, cy=middle, r=3, class_="stop" if last is None else "stop walked")
    for place, item in enumerate(chunk):
        yield _node(item, _FIRST + _GAP * place, middle, leads, language)


def _node(item: WalkItem, x: int, y: int, leads: set[str], language: Language) -> Markup:
    spoken = f"{item.id} {language.say(item.asks)} {language.word(item.answer)}"
    placed = next((piece for piece in item.evidence if piece.start is not None), None)
    ring = tag("circle", cx=x, cy=y, r=_RADIUS + 4, class_="ring") if item.id in leads else None
    return tag(
        "a",
        tag("title", spoken),
        ring,
        *_dot(item.answer, x, y, language),
        href=f"#q-{item.id}",
        class_=f"node {item.answer}" + (" leads" if item.id in leads else ""),
        aria_label=spoken,
        **(zoom(placed) if placed and item.answer == "yes" else {}),
    )


def _dot(answer: str, x: int, y: int, language: Language) -> tuple[Markup, Markup]:
    letter = "?" if answer == "unknown" else language.word(answer)[:1].upper()
    return (
        tag("circle", cx=x, cy=y, r=_RADIUS - 1, class_="dot"),
        tag("text", letter, x=x, y=y + 4, text_anchor="middle", class_="letter"),
    )


def _questions(document: PostMortem, language: Language) -> Iterator[Markup]:
    for name, items in groupby(document.walk, key=lambda item: item.section):
        yield tag("h3", language.say(name))
        yield tag("ul", *(_question(item, document.step_unit, language) for item in items), class_="questions")


def _question(item: WalkItem, unit: str, language: Language) -> Markup:
    return tag("li", _asked(item, language), evidence(item.evidence, language, unit), id=f"q-{item.id}")


def _asked(item: WalkItem, language: Language) -> Markup:
    answer = tag("span", language.word(item.answer), class_=f"answer {item.answer}")
    return tag("p", tag("code", item.id), " ", language.say(item.asks), " ", answer)
