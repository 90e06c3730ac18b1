"""The causes of a post-mortem as lines: the one in the headline in full, the others in one or two lines each."""

from __future__ import annotations

from collections.abc import Sequence

from sismo.postmortem import CauseItem, EvidenceItem, PostMortem
from sismo.report.page import TONES, Page

_EVIDENCE, _AGAINST, _RULED_OUT, _OTHERS = 5, 2, 3, 4
"""How many of each are shown without ``--verbose``: enough to act on, and the first screen stays one screen."""


def headline(page: Page, document: PostMortem) -> list[str]:
    """The verdict, and for a broken run the whole of the first cause."""
    verdict = page.say(document.verdict)
    if document.healthy is not False:
        state = "unjudged" if document.healthy is None else "healthy"
        lines = page.hang(f"{page.mark(state)} ", verdict)
        return [page.paint(line, TONES[state], "bold") for line in lines]
    severity = document.severity
    badge = f"{page.mark(severity)} {severity_word(page, severity)}"
    first, *rest = page.hang(f"{badge}  ", verdict)
    tone = TONES[severity]
    lines = [page.paint(badge, tone, "bold") + page.paint(first[len(badge) :], "bold"), *(page.paint(line, "bold") for line in rest)]
    return [*lines, "", *_in_full(page, document.causes[0])]


def severity_word(page: Page, severity: str) -> str:
    """A severity as a badge."""
    words = {
        "broken": page.word("BROKEN"),
        "warning": page.word("WARNING"),
        "note": page.word("NOTE"),
        "none": page.word("HEALTHY"),
        "unjudged": page.word("NO VERDICT"),
    }
    return words[severity]


def others(page: Page, document: PostMortem) -> list[str]:
    """Consequences of the first cause, then every other cause with its own consequences under it."""
    told = document.causes[:1] if document.healthy is False else ()
    follow = [cause for first in told for cause in document.causes if cause.consequence_of == first.id]
    apart = [cause for cause in document.causes if cause not in told and cause not in follow]
    roots = [cause for cause in apart if not any(cause.consequence_of == other.id for other in apart)]
    lines: list[str] = []
    if follow:
        lines += ["", page.heading(page.word("Follows from it"))]
        lines += [line for cause in follow for line in _in_brief(page, cause)]
    if roots:
        title = page.word("Also found") if document.healthy is False else page.word("Worth knowing")
        lines += ["", page.heading(title)]
    shown = roots if page.verbose else roots[:_OTHERS]
    for cause in shown:
        lines += _in_brief(page, cause, full=document.healthy is not False)
        for child in (other for other in apart if other.consequence_of == cause.id):
            lines += _in_brief(page, child, lead=f"  {page.mark('under')} ")
    if len(roots) > len(shown):
        more = page.language.fill("{count} more: {ids} (--verbose)", count=len(roots) - len(shown), ids=_ids(roots[len(shown) :]))
        lines.append("  " + page.paint(page.clip(more, page.width - 2), "dim"))
    return lines


def _ids(causes: Sequence[CauseItem]) -> str:
    return ", ".join(cause.id for cause in causes)


def _in_full(page: Page, cause: CauseItem) -> list[str]:
    """Statement, evidence in numbers, what speaks against it, what to do first."""
    word = page.word
    rows: list[tuple[str, Sequence[str], bool]] = [
        (word("Evidence"), _sentences(page, cause.evidence, _EVIDENCE), True),
        (word("Against"), _sentences(page, cause.against, _AGAINST), True),
        (word("Ruled out"), _sentences(page, cause.looked_for, _RULED_OUT), True),
        (word("Look-alikes"), [", ".join(cause.twins)] if cause.twins else [], False),
        (word("Do first"), [page.say(cause.first_action)], False),
    ]
    if cause.decider is not None and (cause.twins or page.verbose):
        rows.append((word("To decide"), [page.say(cause.decider)], False))
    if cause.decider is None or cause.decider != cause.confirm or not cause.twins:
        rows.append((word("To confirm"), [page.say(cause.confirm)], False))
    if page.verbose:
        rows += [
            (word("Other fixes"), [page.say(fix) for fix in cause.fixes], True),
            (word("Not looked at"), _sentences(page, cause.open, None), True),
            (word("Would refute"), [page.say(cause.counter)], False),
        ]
    rows.append((word("Confidence"), [f"{cause.confidence:.2f}"], False))
    filled = [(label, texts, bulleted) for label, texts, bulleted in rows if texts and texts[0]]
    column = max(len(label) for label, _, _ in filled) + 4
    lines = [*page.hang("  ", page.say(cause.statement)), ""]
    for label, texts, bulleted in filled:
        action = label == word("Do first")
        for position, text in enumerate(texts):
            lead = f"  {label if position == 0 else '':<{column - 2}}" + (f"{page.mark('bullet')} " if bulleted else "")
            first, *rest = page.hang(lead, text)
            tones = ("bold",) if action else ()
            lines.append(page.paint(first[:column], "dim") + page.paint(first[column:], *tones))
            lines += [page.paint(line, *tones) for line in rest]
    return lines


def _sentences(page: Page, items: Sequence[EvidenceItem], limit: int | None) -> list[str]:
    """The sentences, each once, the first few of them without ``--verbose``."""
    sentences = list(dict.fromkeys(page.say(item.text) for item in items))
    return sentences if page.verbose or limit is None else sentences[:limit]


def _in_brief(page: Page, cause: CauseItem, *, lead: str = "  ", full: bool = False) -> list[str]:
    """Mark, confidence, title, id and step on one line; the strongest evidence, and where asked the first action, below."""
    title = page.say(cause.title)
    where = "" if cause.step is None else page.language.fill(", step {step}", step=cause.step)
    mark = page.mark(cause.severity)
    head = page.hang(f"{lead}{mark} {cause.confidence:.2f}  ", f"{title} ({cause.id}){where}")
    head[0] = head[0].replace(mark, page.paint(mark, TONES[cause.severity]), 1)
    column = " " * (len(lead) + len(mark) + 7)
    below = [line for item in cause.evidence[:1] for line in page.hang(column, page.say(item.text))]
    lines = [*head, *(page.paint(line, "dim") for line in below)]
    if full or page.verbose:
        lines += page.hang(column, page.say(cause.first_action))
    return lines
