"""Two runs side by side as text: where each series parts, and what was configured differently."""

from __future__ import annotations

from collections.abc import Sequence

from sismo.compare import Comparison, Parting
from sismo.report.columns import columns
from sismo.report.page import Page

_SETTINGS = 20
_WIDEST = 28
"""Columns of one value: a configuration may hold whole documents."""


def render(found: Comparison, page: Page) -> str:
    """The summary, without a newline at its end."""
    lines = [page.heading(f"A  {found.a}"), page.heading(f"B  {found.b}"), "", *page.hang("", verdict(found, page)), ""]
    rows = [_row(one, page) for one in found.series]
    if rows:
        word = page.word
        lines += _table([(word("channel"), word("differs"), word("parts"), word("last in A"), word("last in B")), *rows], page)
    for label, names in ((page.word("only in A"), found.only_a), (page.word("only in B"), found.only_b)):
        if names:
            lines += page.hang(f"{label}: ", ", ".join(names))
    if found.settings:
        cells = [(one.name, _said(one.a), _said(one.b)) for one in found.settings]
        lines += ["", page.heading(page.word("Configured differently")), *_table([("", "A", "B"), *cells[:_SETTINGS]], page)]
        if len(cells) > _SETTINGS:
            lines.append(page.language.fill("{count} more", count=len(cells) - _SETTINGS))
    return "\n".join(line.rstrip() for line in lines)


def verdict(found: Comparison, page: Page) -> str:
    """One sentence: which series parts first, and where."""
    first = found.first
    if first is None and not any(one.rows for one in found.series):
        return page.word("The two runs have no step of any channel in common.")
    if first is None:
        return page.word("The two runs are the same number for number where both logged something.")
    if first.parts is not None:
        return page.language.fill("{channel} parts first, at step {step}.", channel=first.channel, step=first.parts)
    return page.language.fill(
        "{channel} differs first, at step {step}, but nothing parts by more than noise.", channel=first.channel, step=first.differs
    )


def _row(one: Parting, page: Page) -> tuple[str, ...]:
    if not one.rows:
        return (one.channel, page.word("no common step"), "", "", "")
    same = page.word("same")
    return (
        one.channel,
        same if one.differs is None else f"{one.differs:,}",
        page.word("no") if one.parts is None else f"{one.parts:,}",
        *(f"{value:.4g}" for value in one.last),
    )


def _said(value: str | None) -> str:
    return "–" if value is None else value


def _table(rows: Sequence[tuple[str, ...]], page: Page) -> list[str]:
    clipped = [(name, *(page.clip(" ".join(cell.split()), _WIDEST) for cell in cells)) for name, *cells in rows]
    head, *lines = columns(clipped, page.width)
    return [*(page.paint(line, "dim") for line in head), *(line for row in lines for line in row)]
