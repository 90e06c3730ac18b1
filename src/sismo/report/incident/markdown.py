"""A post-mortem as Markdown, each part between the comments that ``keep`` finds again."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sismo.incident.types import Incident
from sismo.report.escape import markdown as escaped
from sismo.report.incident.keep import Parts
from sismo.report.incident.sections import Block, Bullets, Code, Figures, Missing, Paragraph, Section, Table, sections
from sismo.report.language import Language


def render(incident: Incident, language: Language, picture: str = "") -> Parts:
    """Name and text of each part. ``picture`` is the file with the pictures, as the document links to it; empty where there is none."""
    return [
        (section.id, "\n".join(_section(section, language, picture, level=1 if place == 0 else 2)))
        for place, section in enumerate(sections(incident, language))
    ]


def _section(section: Section, language: Language, picture: str, *, level: int) -> Iterator[str]:
    yield f"{'#' * level} {escaped(section.heading)}"
    for block in section.blocks:
        yield ""
        yield from _block(block, language, picture)


def _block(block: Block, language: Language, picture: str) -> Iterator[str]:
    if isinstance(block, Paragraph):
        text = escaped(block.text)
        yield f"**{text}**" if block.strong else text
    elif isinstance(block, Bullets):
        if block.lead:
            yield from (escaped(block.lead), "")
        yield from (f"- {escaped(item)}" for item in block.items)
    elif isinstance(block, Table):
        yield "| " + " | ".join(escaped(cell) for cell in block.head) + " |"
        yield "|" + "---|" * len(block.head)
        yield from ("| " + " | ".join(escaped(cell) for cell in row) + " |" for row in block.rows)
    elif isinstance(block, Code):
        fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", block.text)), default=0))
        yield from (f"{fence}{block.kind}", block.text, fence)
    elif isinstance(block, Missing):
        yield f"> {escaped(language.fill('Missing: {what}. To get it: {how}', what=block.what, how=block.how))}"
    else:
        yield _figures(block, language, picture)


def _figures(block: Figures, language: Language, picture: str) -> str:
    if picture:
        return f"![{escaped(block.alt)}](<{picture}>)"
    return escaped(language.word("Pictures are drawn when the post-mortem is written to a file (-o FILE), or as HTML (--format html)."))
