"""Evidence as buttons: a click zooms all panels to the steps that it spans."""

from __future__ import annotations

from collections.abc import Sequence

from sismo.dashboard.alarms import owner_of
from sismo.dashboard.registry import panels
from sismo.postmortem import EvidenceItem
from sismo.report.language import Language
from sismo.report.markup import Markup, raw, tag


def evidence(items: Sequence[EvidenceItem], language: Language, unit: str) -> Markup:
    """A list of evidence; nothing for an empty one. A piece without a place in time is plain text."""
    # What several signals miss is missed once.
    lines = dict.fromkeys(str(_item(item, language, unit)) for item in items)
    return tag("ul", *map(raw, lines), class_="evidence") if items else Markup()


def zoom(item: EvidenceItem) -> dict[str, str | float | None]:
    """The attributes that make an element zoom to a piece of evidence."""
    owner = owner_of(item.channel, panels())
    return {"data_start": item.start, "data_end": item.end, "data_panel": owner.id if owner else None}


def _item(item: EvidenceItem, language: Language, unit: str) -> Markup:
    text = language.say(item.text)
    if item.start is None:
        return tag("li", text)
    span = f"{item.start:,}" if item.end in (None, item.start) else f"{item.start:,}–{item.end:,}"
    where = tag("span", f"{language.word(unit)} {span}", class_="where")
    return tag("li", tag("button", tag("span", text), " ", where, type="button", class_="zoom", **zoom(item)))
