"""Many runs at a glance: one line each, worst first."""

from __future__ import annotations

from collections.abc import Sequence

from sismo.postmortem import PostMortem
from sismo.report.findings import severity_word
from sismo.report.page import TONES, Page

_RANK = {"broken": 0, "warning": 1, "unjudged": 2, "note": 3, "none": 4}


def state(document: PostMortem) -> str:
    """The severity, or ``unjudged`` for a run without a verdict."""
    return "unjudged" if document.healthy is None else document.severity


def worst_first(documents: Sequence[PostMortem]) -> list[PostMortem]:
    """The runs in the order in which they need attention; equal ones stay in the order of reading."""
    return sorted(documents, key=lambda document: _RANK[state(document)])


def table(documents: Sequence[PostMortem], page: Page) -> str:
    """One line a run: mark, severity, first cause, step, name."""
    states = [state(document) for document in documents]
    badges = [severity_word(page, name) for name in states]
    ids = [document.causes[0].id if document.causes else "" for document in documents]
    steps = ["" if document.step is None else str(document.step) for document in documents]
    wide = max(len(badge) for badge in badges)
    named = min(32, max(5, *map(len, ids)))
    placed = max(len(page.word("step")), *map(len, steps))
    room = page.width - wide - named - placed - 8
    head = f"  {'':<{wide}}  {page.word('cause'):<{named}}  {page.word('step'):>{placed}}  {page.word('run')}"
    lines = [page.paint(head, "dim")]
    for document, name, badge, cause, step in zip(documents, states, badges, ids, steps, strict=True):
        mark = page.paint(f"{page.mark(name)} {badge:<{wide}}", TONES[name])
        run = f"{document.path} [{document.name}]" if document.name else document.path
        more = page.mark("more")
        shown = run if len(run) <= room else more + run[-(room - len(more)) :]
        lines.append(f"{mark}  {page.clip(cause, named):<{named}}  {step:>{placed}}  {shown}".rstrip())
    return "\n".join(lines)
