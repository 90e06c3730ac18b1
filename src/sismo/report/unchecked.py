"""What could not be looked at, and what to log or record so that it can be, as lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sismo.postmortem import UnknownItem
from sismo.report.page import Page

_LINES = 9
"""Lines without ``--verbose``."""


def unchecked(page: Page, unknown: Sequence[UnknownItem]) -> list[str]:
    """Missing pieces grouped by what brings them, the one that settles most questions first."""
    groups: dict[str, list[UnknownItem]] = {}
    for item in unknown:
        groups.setdefault(page.say(item.how), []).append(item)
    if not groups:
        return []
    ranked = sorted(groups.items(), key=lambda group: -len(group[1]))
    right = page.word("questions it would settle")
    lines: list[str] = []
    # The last columns belong to the count.
    sheet = replace(page, width=page.width - 8)
    for how, items in ranked:
        missing = ", ".join(dict.fromkeys(page.say(item.missing) for item in items))
        block = sheet.hang("  ", how)
        block[0] = f"{block[0]:<{page.width - 4}}{len(items):>4}"
        below = sheet.hang("    ", missing) if page.verbose else [f"    {page.clip(missing, sheet.width - 4)}"]
        block += [page.paint(line, "dim") for line in below]
        if len(lines) + len(block) > _LINES and not page.verbose:
            break
        lines += block
    return ["", page.heading(page.word("Not checked"), right), *lines]
