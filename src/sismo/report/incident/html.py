"""A post-mortem as one HTML file that needs nothing else, each part between the comments that ``keep`` finds again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sismo.incident.types import Incident
from sismo.report.incident.keep import Parts
from sismo.report.incident.picture import draw
from sismo.report.incident.sections import Block, Bullets, Code, Missing, Paragraph, Section, Table, sections
from sismo.report.language import Language
from sismo.report.markup import Markup, join, raw, tag

_SHORT = 4
"""Letters of a cell that leaves its column to the others: a number, a dash."""

_STYLE = """
:root { color-scheme: light dark; --line: #ccd2da; --soft: #f3f5f8; --mark: #8a5a00; }
@media (prefers-color-scheme: dark) { :root { --line: #444c56; --soft: #22272e; --mark: #e3b341; } }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 0 auto; padding: 1rem; overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; margin: 2rem 0 .5rem; border-bottom: 1px solid var(--line); }
.scroll { overflow-x: auto; overflow-wrap: break-word; } table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .3rem .8rem .3rem 0; border-bottom: 1px solid var(--line); }
th { white-space: nowrap; } td { min-width: 5rem; } td.short { min-width: 0; }
pre { font: .9rem/1.4 ui-monospace, monospace; }
pre { background: var(--soft); padding: .7rem; overflow-x: auto; }
.missing { border-left: 3px solid var(--mark); padding: .1rem .7rem; margin: .5rem 0; background: var(--soft); }
@media (max-width: 30rem) { .scroll { font-size: .8rem; } th { padding-right: .4rem; } td { padding-right: .4rem; min-width: 4rem; } }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 21rem), 1fr)); gap: .5rem; }
.figures svg { width: 100%; height: auto; }
"""


def render(incident: Incident, language: Language) -> Parts:
    """Name and markup of each part; the first one opens the page and the last one, ``end``, closes it."""
    opening, *parts = sections(incident, language)
    head = join(
        [
            tag("meta", charset="utf-8"),
            tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
            tag("title", opening.heading),
            tag("style", raw(_STYLE)),
        ],
        "\n",
    )
    page = f'<!doctype html>\n<html lang="{language.code}">\n<head>\n{head}\n</head>\n<body>\n'
    return [
        ("verdict", page + _section(opening, incident, language, "h1")),
        *((part.id, _section(part, incident, language, "h2")) for part in parts),
        ("end", "</body>\n</html>"),
    ]


def _section(section: Section, incident: Incident, language: Language, heading: str) -> str:
    pieces = [tag(heading, section.heading), *(piece for block in section.blocks for piece in _block(block, incident, language))]
    return str(tag("section", join(pieces, "\n"), id=section.id))


def _block(block: Block, incident: Incident, language: Language) -> Iterator[Markup]:
    if isinstance(block, Paragraph):
        yield tag("p", tag("strong", block.text) if block.strong else block.text)
    elif isinstance(block, Bullets):
        if block.lead:
            yield tag("p", block.lead)
        yield tag("ul", *(tag("li", item) for item in block.items))
    elif isinstance(block, Table):
        head = tag("thead", _row(block.head, "th")) if any(block.head) else None
        yield tag("div", tag("table", head, tag("tbody", *(_row(row, "td") for row in block.rows))), class_="scroll")
    elif isinstance(block, Code):
        yield tag("pre", tag("code", block.text))
    elif isinstance(block, Missing):
        text = language.fill("Missing: {what}. To get it: {how}", what=block.what, how=block.how)
        yield tag("p", text, class_="missing")
    else:
        yield tag("p", block.alt)
        yield tag("div", *(draw(picture, language) for picture in incident.pictures), class_="figures")


def _row(cells: Sequence[str], name: str) -> Markup:
    return tag("tr", *(tag(name, cell, class_="short" if len(cell) <= _SHORT else None) for cell in cells))
