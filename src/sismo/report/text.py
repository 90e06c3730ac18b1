"""A post-mortem as text for a terminal: the first screen says what is wrong and what to do; then the path; then what is not known."""

from __future__ import annotations

from sismo.postmortem import PostMortem
from sismo.report.findings import headline, others
from sismo.report.page import Page
from sismo.report.unchecked import unchecked
from sismo.report.walked import path

LIMIT = 60
"""Lines that a run takes at most without ``--verbose``."""

_FACTS, _NOTES = 3, 4


def render(document: PostMortem, page: Page) -> str:
    """The report, without a newline at its end."""
    head = [*_masthead(page, document), "", *headline(page, document)]
    found = others(page, document)
    below = [*unchecked(page, document.unknown), *_notes(page, document)]
    if not page.verbose and len(head) + len(found) + len(below) > LIMIT:
        found = found[: max(0, LIMIT - len(head) - len(below))]
    walked = path(page, document.walk, LIMIT - len(head) - len(found) - len(below))
    return "\n".join(line.rstrip() for line in [*head, *found, *walked, *below])


def _masthead(page: Page, document: PostMortem) -> list[str]:
    """Which run, read as what, and the numbers that say it was read."""
    name = document.path if not document.name else f"{document.path} [{document.name}]"
    right = f"{document.source} {page.mark('between')} {document.preset}"
    room = page.width - len(right) - 2
    # The end of a path tells more than its beginning.
    shown = name if len(name) <= room else page.mark("more") + name[-(room - len(page.mark("more"))) :]
    facts = document.facts if page.verbose else document.facts[:_FACTS]
    return [page.heading(shown, right), *(page.paint(page.clip(page.say(fact), page.width), "dim") for fact in facts)]


def _notes(page: Page, document: PostMortem) -> list[str]:
    """Remarks on how the log was read."""
    if not document.notes:
        return []
    notes = list(dict.fromkeys(page.say(note) for note in document.notes))
    shown = notes if page.verbose else notes[:_NOTES]
    lines = ["", page.heading(page.word("Notes on the reading"))]
    for note in shown:
        lead = f"  {page.mark('bullet')} "
        lines += page.hang(lead, note)
    if len(notes) > len(shown):
        lines.append("    " + page.paint(page.language.fill("{count} more (--verbose)", count=len(notes) - len(shown)), "dim"))
    return lines
