"""The page of a scan: what fails, since when, and by which settings, in the style of the dashboard; it opens from disk."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from sismo.dashboard.shell import asset, shell
from sismo.postmortem import Text
from sismo.report.language import Language
from sismo.report.markup import Markup, join, raw, tag
from sismo.scan.groups import Group, Link, groups, links, tally, timeline
from sismo.scan.scanning import Scanned
from sismo.scan.summary import counted, headline, state, strays
from sismo.scan.types import STATES, Row
from sismo.tree.catalogue import causes

STYLE = Path(__file__).with_name("page.css")

_SHOWN_RUNS, _SHOWN_LINKS, _SHOWN_ERRORS = 50, 5, 200
"""Runs of a group, settings and unread paths that are written out; the table has the rest."""
_HEIGHT, _BAR = 110, 24


def render(scanned: Scanned, paths: Sequence[str], language: Language) -> str:
    """The page as text. ``paths`` are those that were asked for."""
    rows = scanned.rows
    found = groups(rows)
    title = language.say(headline(rows))
    bar = tag("header", tag("span", "sismo", class_="brand"), tag("span", ", ".join(paths), class_="run"))
    top = tag("section", tag("h1", title), _counts(rows, language), _strays(scanned, language), class_=f"verdict {state(rows)}")
    main = tag(
        "main",
        top,
        _since(rows, language),
        _settings(rows, language),
        *(_group(group, language) for group in found),
        _unread(rows, language),
    )
    style = raw(asset("page.css") + STYLE.read_text(encoding="utf-8"))
    return shell(f"{title} · sismo", (bar, main), style, language=language.code, state=state(rows))


def _strays(scanned: Scanned, language: Language) -> Markup | None:
    """What was passed over, where there was something."""
    said = strays(scanned)
    return tag("p", language.say(said)) if said is not None else None


def _counts(rows: Sequence[Row], language: Language) -> Markup:
    counts = tally(rows)
    return tag("p", *(tag("span", tag("i", class_=name), language.say(counted(name, counts[name]))) for name in STATES), class_="counts")


def _since(rows: Sequence[Row], language: Language) -> Markup | None:
    """Bars of runs over time, stacked by state."""
    buckets = timeline(rows)
    if not buckets:
        return None
    most = max(sum(bucket.counts.values()) for bucket in buckets)
    bars: list[Markup] = []
    for at, bucket in enumerate(buckets):
        base = float(_HEIGHT)
        told = ", ".join(language.say(counted(name, bucket.counts[name])) for name in STATES if bucket.counts.get(name))
        pile: list[Markup] = [tag("title", f"{_day(bucket.start)} – {_day(bucket.end)}: {told}")]
        for name in reversed(STATES):
            if tall := _HEIGHT * bucket.counts.get(name, 0) / most:
                base -= tall
                pile.append(tag("rect", x=at * _BAR, y=f"{base:.2f}", width=_BAR - 2, height=f"{tall:.2f}", class_=name))
        bars.append(tag("g", *pile))
    width = len(buckets) * _BAR
    title = language.word("Runs over time, by when they were last written")
    picture = tag("svg", *bars, viewBox=f"0 0 {width} {_HEIGHT}", preserveAspectRatio="none", role="img", aria_label=title)
    ends = tag("p", tag("span", _day(buckets[0].start)), tag("span", _day(buckets[-1].end)), class_="ends")
    return tag("section", tag("h2", title), picture, ends, class_="since")


def _settings(rows: Sequence[Row], language: Language) -> Markup | None:
    found = links(rows, [row for row in rows if row.fails])[: 2 * _SHOWN_LINKS]
    if not found:
        return None
    return tag("section", tag("h2", language.word("Settings with which runs fail more often")), _links(found, language), class_="compared")


def _links(found: Sequence[Link], language: Language) -> Markup:
    word = language.word
    names = (word("setting"), word("value"), word("fail with it"), word("fail without"))
    head = tag("tr", *(tag("th", name, scope="col") for name in names))
    lines = [
        tag(
            "tr",
            tag("th", tag("code", link.setting), scope="row"),
            tag("td", tag("code", link.value)),
            tag("td", _share(link.hit, link.of, language)),
            tag("td", _share(link.hit_else, link.of_else, language)),
        )
        for link in found
    ]
    return tag("div", tag("table", tag("thead", head), tag("tbody", *lines)), class_="scroll")


def _share(count: int, total: int, language: Language) -> str:
    return language.fill("{share:.0%} ({count} of {total})", share=count / max(1, total), count=count, total=total)


def _group(group: Group, language: Language) -> Markup:
    cause = causes()[group.cause]
    say, word = language.say, language.word
    facts = [tag("span", language.fill("{count} {count:run|runs}", count=f"{len(group.rows):,}"))]
    if group.first:
        facts.append(tag("span", language.fill("since {first}, last {last}", first=_day(group.first), last=_day(group.last))))
    if group.step is not None:
        facts.append(
            tag("span", language.fill("at {unit} {step}, in the middle run", unit=group.rows[0].step_unit, step=f"{group.step:,}"))
        )
    by = group.links[:_SHOWN_LINKS]
    return tag(
        "section",
        tag("p", tag("span", word(group.severity), class_=f"badge {group.severity}"), *facts, class_="kicker"),
        tag("h2", say(Text(cause.title)), " ", tag("code", group.cause)),
        tag("p", say(Text(cause.statement))),
        tag("p", say(Text(cause.first_action)), class_="action"),
        _links(by, language) if by else None,
        _runs(group.rows, language),
        class_="group",
    )


def _runs(rows: Sequence[Row], language: Language) -> Markup:
    word = language.word
    head = tag("tr", *(tag("th", name, scope="col") for name in (word("run"), word("step"), word("confidence"), word("last written"))))
    lines = [
        tag(
            "tr",
            tag("td", tag("code", f"{row.path} {row.name}".strip())),
            tag("td", "" if row.step is None else f"{row.step:,}"),
            tag("td", "" if row.confidence is None else f"{row.confidence:.0%}"),
            tag("td", _day(row.time) if row.time else ""),
        )
        for row in rows[:_SHOWN_RUNS]
    ]
    rest = len(rows) - len(lines)
    more = tag("p", language.fill("{count} more are in the table", count=f"{rest:,}")) if rest > 0 else None
    table = tag("div", tag("table", tag("thead", head), tag("tbody", *lines)), class_="scroll")
    return tag("details", tag("summary", word("The runs, newest first")), table, more)


def _unread(rows: Sequence[Row], language: Language) -> Markup | None:
    failed = [row for row in rows if row.error]
    if not failed:
        return None
    lines = [tag("li", tag("code", row.path), f" {row.error}") for row in failed[:_SHOWN_ERRORS]]
    rest = len(failed) - len(lines)
    more = tag("p", language.fill("{count} more are in the table", count=f"{rest:,}")) if rest > 0 else None
    return tag("section", tag("h2", language.word("Could not be read")), tag("ul", join(lines)), more, class_="reading")


def _day(time: float) -> str:
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%d %H:%M")
