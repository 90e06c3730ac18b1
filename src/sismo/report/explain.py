"""What an id means: a question, a cause or a threshold, under fixed headings."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from sismo.report.page import TONES, Page
from sismo.report.plain import plain
from sismo.signals.types import Detector, Threshold
from sismo.tree.types import Cause, Node

SCHEMA = "sismo.explanation/1"

Row = tuple[str, Sequence[str]]
"""A heading and the paragraphs under it."""


def question(node: Node, detectors: Mapping[str, Detector], titles: Mapping[str, str], page: Page) -> str:
    """A question. ``titles`` names the questions and causes that its answers lead to."""
    word = page.word

    def follow(ids: Sequence[str]) -> list[str]:
        return [f"{name}  {word(titles.get(name, ''))}".rstrip() for name in ids] or [word("Nothing further is asked.")]

    rows: list[Row] = [
        (word("What it asks"), [word(node.asks)]),
        (word("Why it matters"), [word(node.why)]),
        (word("What it reads"), [_signal(name, detectors, page) for name in node.signals]),
        (word("Thresholds"), [_limit(limit, page) for limit in _limits(node.signals, detectors)]),
        (word("Yes"), follow(node.yes)),
        (word("No"), follow(node.no)),
        (word("Unknown"), follow(node.unknown)),
        (word("Often confused with"), [word(node.confused_with)]),
        (word("What to try"), [word(node.try_next)]),
        (word("References"), [node.references]),
    ]
    section = word(node.section).removeprefix(node.id.partition(".")[0]).strip()
    return _sheet(f"{node.id}  {section}", "", rows, page)


def cause(cause: Cause, detectors: Mapping[str, Detector], page: Page) -> str:
    """A cause of the catalogue."""
    word = page.word
    against = [*(weight.signal for weight in cause.against), *cause.vetoes]
    rows: list[Row] = [
        (word("What happened"), [word(cause.statement)]),
        (word("Do first"), [word(cause.first_action)]),
        (word("Other fixes"), [word(fix) for fix in cause.fixes]),
        (word("To confirm"), [word(cause.confirm)]),
        (word("Needs all of"), [_signal(name, detectors, page) for name in cause.needs]),
        (word("Needs one of"), [_signal(name, detectors, page) for name in cause.needs_any]),
        (word("Surer with"), [_signal(weight.signal, detectors, page) for weight in cause.supports]),
        (word("Speaks against it"), [_signal(name, detectors, page) for name in against]),
        (word("Would refute"), [word(cause.counter)]),
        (word("Brings about"), [", ".join(cause.explains)]),
        (word("Often confused with"), [", ".join(cause.twins)]),
        (word("To decide"), [word(cause.decider)]),
        (word("Source"), [cause.source]),
    ]
    return _sheet(f"{cause.id}  {word(cause.title)}", cause.severity.value, rows, page)


def threshold(limit: Threshold, users: Sequence[str], page: Page) -> str:
    """A threshold. ``users`` are the signals that compare with it."""
    word = page.word
    rows: list[Row] = [
        (word("What it decides"), [word(limit.about)]),
        ("robust", [_amount(limit.robust, limit.unit, page)]),
        ("literal", [_amount(limit.literal, limit.unit, page)]),
        (word("Used by"), [", ".join(users)]),
        (word("Source"), [limit.source]),
        (
            word("To change it"),
            [page.language.fill("--thresholds FILE, with the line: {name} = {value}", name=limit.name, value=f"{limit.robust:g}")],
        ),
    ]
    return _sheet(limit.name, "", rows, page)


def render_json(kind: str, entry: Node | Cause | Threshold, version: str, **more: object) -> str:
    """The entry as data, with every field it has and whatever else is known of it."""
    fields = {name: plain(value) for name, value in entry._asdict().items()}
    document = {"schema": SCHEMA, "sismo": version, "kind": kind, **fields, **more}
    return json.dumps(document, indent=2, allow_nan=False)


def _sheet(title: str, severity: str, rows: Sequence[Row], page: Page) -> str:
    """A title, and each heading with what stands under it; empty headings are left out."""
    lines = _heading(title, severity, page)
    for heading, paragraphs in rows:
        filled = [paragraph for paragraph in paragraphs if paragraph]
        if filled:
            lines += ["", f"  {page.paint(heading, 'dim')}"]
            lines += [line for paragraph in filled for line in page.hang("    ", paragraph, indent=6)]
    return "\n".join(lines)


def _heading(title: str, severity: str, page: Page) -> list[str]:
    """The title with the severity behind it; under it where the line is too short for both."""
    if not severity:
        return [page.paint(line, "bold") for line in page.hang("", title, indent=4)]
    last = page.paint(page.word(severity), TONES[severity])
    if len(title) + 2 + len(page.word(severity)) <= page.width:
        return [f"{page.paint(title, 'bold')}  {last}"]
    return [*(page.paint(line, "bold") for line in page.hang("", title, indent=4)), f"    {last}"]


def _signal(name: str, detectors: Mapping[str, Detector], page: Page) -> str:
    detector = detectors.get(name)
    reads = ", ".join(detector.reads) if detector else ""
    return page.language.fill("{signal} (reads {channels})", signal=name, channels=reads) if reads else name


def _limits(signals: Sequence[str], detectors: Mapping[str, Detector]) -> list[Threshold]:
    """The thresholds behind some signals, each once."""
    found = [limit for name in signals if name in detectors for limit in detectors[name].thresholds]
    return list({limit.name: limit for limit in found}.values())


def _limit(limit: Threshold, page: Page) -> str:
    said = f"{limit.name} = {_amount(limit.robust, limit.unit, page)}"
    return said if limit.literal == limit.robust else f"{said} (literal: {limit.literal:g})"


def _amount(value: float, unit: str, page: Page) -> str:
    """A value with its unit, as it is said."""
    fill = page.language.fill
    said = {
        "row": fill("{value:g} {value:row|rows}", value=value),
        "step": fill("{value:g} {value:step|steps}", value=value),
        "nat": fill("{value:g} {value:nat|nats}", value=value),
        "share": f"{value:g} ({100 * value:g} %)",
        "flag": fill("{value:g} (1 is on, 0 is off)", value=value),
        "1": f"{value:g}",
    }
    return said.get(unit, f"{value:g} {unit}".rstrip())
