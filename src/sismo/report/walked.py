"""The walked path as lines, folded as far as it takes to fit the room that is left."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from sismo.postmortem import WalkItem
from sismo.report.page import TONES, Page

_FOLDS = 4
"""Steps of folding: only sections that are all unknown; sections without a yes; every no and unknown; every section."""


def path(page: Page, walk: Sequence[WalkItem], room: int) -> list[str]:
    """The path in at most ``room`` lines, or whole with ``--verbose``. Empty when there is no room for any of it."""
    if not walk:
        return []
    legend = "   ".join(f"{page.mark(name)} {page.word(name)}" for name in ("yes", "no", "unknown"))
    top = ["", page.heading(page.word("The path"), legend)]
    sections = [(name, list(items)) for name, items in groupby(walk, key=_section)]
    for fold in range(_FOLDS):
        for whole in (True, False):
            body = [line for name, items in sections for line in _lines(page, name, items, fold, whole)]
            if page.verbose or len(top) + len(body) <= room:
                return [*top, *body]
    counts = page.language.fill("{count} {count:question|questions}: {tally} (--verbose)", count=len(walk), tally=_tally(page, walk))
    return [*top, f"  {counts}"] if room > len(top) else []


def _section(item: WalkItem) -> tuple[str, str]:
    return item.id.partition(".")[0], item.section.template


def _lines(page: Page, section: tuple[str, str], items: Sequence[WalkItem], fold: int, whole: bool) -> Iterator[str]:
    """One section: folded to one line, or its heading and its questions, ``whole`` or one line each."""
    answers = {item.answer for item in items}
    silent = answers == {"unknown"} or (fold >= 1 and "yes" not in answers) or fold >= 3
    name = page.say(items[0].section)
    title = name if name.startswith(section[0]) else f"{section[0]} {name}"
    if silent and not page.verbose:
        worst = next(answer for answer in ("yes", "no", "unknown") if answer in answers)
        tally = page.paint(_tally(page, items), "dim")
        mark = page.paint(page.mark(worst), TONES[worst])
        yield f"  {mark} {page.clip(title, 46):<48}{tally}"
        return
    kept = [item for item in items if item.answer == "yes" or fold < 2 or page.verbose]
    left = _tally(page, [item for item in items if item not in kept])
    yield "    " + page.paint(f"{page.clip(title, 46):<48}" if left else title, "bold") + page.paint(left, "dim")
    for item in kept:
        yield from _question(page, item, whole)


def _question(page: Page, item: WalkItem, whole: bool) -> Iterator[str]:
    """Mark, id and question; below it what a yes rests on, and with ``--verbose`` all evidence whatever the answer."""
    mark, tone = page.mark(item.answer), TONES[item.answer]
    asks = page.say(item.asks)
    lead = f"  {mark} {item.id:<6} "
    first, *rest = page.hang(lead, asks) if whole else [lead + page.clip(asks, page.width - len(lead))]
    yield first.replace(mark, page.paint(mark, tone), 1)
    yield from rest
    shown = item.evidence if page.verbose else item.evidence[:1] if item.answer == "yes" else ()
    for text in dict.fromkeys(page.say(evidence.text) for evidence in shown):
        lines = page.hang(" " * len(lead), text) if whole else [" " * len(lead) + page.clip(text, page.width - len(lead))]
        yield from (page.paint(line, "dim") for line in lines)


def _tally(page: Page, items: Sequence[WalkItem]) -> str:
    """``3 no, 2 unknown``."""
    answers = [item.answer for item in items]
    counted = [(answers.count(name), page.word(name)) for name in ("yes", "no", "unknown")]
    return ", ".join(f"{count} {name}" for count, name in counted if count)
