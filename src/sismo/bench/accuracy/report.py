"""The report: the same tables as Markdown, HTML and JSON."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from typing import NamedTuple

from sismo import __version__
from sismo.bench import tables
from sismo.bench.accuracy.answers import LEVELS, Examined
from sismo.bench.accuracy.peers import PeerScore
from sismo.bench.accuracy.scores import RESULTS, Score, classify, false_alarms, healthy, middle, without_effect
from sismo.dashboard.shell import asset, shell
from sismo.report.markup import Markup, raw, tag

MIN_RIGHT: Mapping[str, float] = {"log": 0.70, "recorded": 0.92, "probed": 0.97}
MAX_CONFIDENTLY_WRONG = 0.01
MIN_UNSEEN = 0.90
"""The bars: right first at each level, wrong with confidence, and unknown where the family of the cause is not in the catalogue."""


class Section(NamedTuple):
    """A table with a title and a sentence on how to read it."""

    title: str
    says: str
    header: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


class Report(NamedTuple):
    """Everything that is written: how it was made, the tables, and whether the bars are met."""

    made: str
    sections: Sequence[Section]
    met: bool


def report(examined: Sequence[Examined], scores: Mapping[str, Score], peers: Sequence[PeerScore], what: str) -> Report:
    """Puts the tables together. ``what`` says what was asked for."""
    sections = [
        _levels(scores, examined),
        _early(scores),
        _calibration(scores),
        _by_fault(examined),
        *(_confusions(level, score) for level, score in scores.items()),
        _healthy(examined),
        _idle(examined),
        *([_peers(peers, examined)] if peers else []),
    ]
    return Report(f"{what}. {_machine()}", [section for section in sections if section.rows], meets(scores, examined))


def meets(scores: Mapping[str, Score], examined: Sequence[Examined]) -> bool:
    """Whether every bar is met. Where nothing was scored, the bars of faults are not asked."""
    alarms = any(false_alarms(examined, level) for level in LEVELS)
    return not alarms and all(_meets(level, score) for level, score in scores.items() if score.total)


def _meets(level: str, score: Score) -> bool:
    right = score.results["right"] / score.total >= MIN_RIGHT[level]
    sure = score.results["confidently wrong"] / score.total <= MAX_CONFIDENTLY_WRONG
    return right and sure and score.unseen[0] >= MIN_UNSEEN * score.unseen[1]


def markdown(made: Report) -> str:
    """The report as a page of the docs."""
    parts = ["# Accuracy", "Written by `sismo bench accuracy`; nothing here is typed by hand.", made.made]
    for section in made.sections:
        parts += [f"## {section.title}", section.says, tables.markdown(section.header, section.rows)]
    return "\n\n".join(part for part in parts if part) + "\n"


def html(made: Report) -> str:
    """The report as one page that opens from disk."""
    parts = [tag("h1", "Accuracy"), tag("p", made.made)]
    main = tag("main", tag("section", *parts, class_="verdict"), *(_html(section) for section in made.sections))
    bar = tag("header", tag("span", "sismo", class_="brand"), tag("span", "bench accuracy", class_="run"))
    return shell("Accuracy · sismo", (bar, main), raw(asset("page.css")), language="en", state="healthy" if made.met else "warning")


def as_json(made: Report) -> str:
    """The report as data."""
    sections = [
        {"title": section.title, "says": section.says, "rows": [dict(zip(section.header, row, strict=True)) for row in section.rows]}
        for section in made.sections
    ]
    document = {"schema": "sismo.accuracy/1", "made": made.made, "met": made.met, "sections": sections}
    return json.dumps(document, indent=1, ensure_ascii=False)


def _html(section: Section) -> Markup:
    head = tag("tr", *(tag("th", name, scope="col") for name in section.header))
    body = tag("tbody", *(tag("tr", *(tag("td", cell) for cell in row)) for row in section.rows))
    table = tag("div", tag("table", tag("thead", head), body), class_="scroll")
    return tag("section", tag("h2", section.title), tag("p", section.says), table, class_="compared")


def _levels(scores: Mapping[str, Score], examined: Sequence[Examined]) -> Section:
    names = tuple(LEVELS[level] for level in scores)
    every = list(scores.values())
    rows = [
        ("right cause first", *(tables.share(one.results["right"], one.total) for one in every)),
        ("… or in the open pair that comes first", *(tables.share(one.results["right"] + one.results["pair"], one.total) for one in every)),
        ("right cause first, of faults that the log shows", *(tables.share(one.visible[0], one.visible[2]) for one in every)),
        ("… or in the open pair that comes first, of those", *(tables.share(*one.visible[1:]) for one in every)),
        ("… among the first three", *(tables.share(one.in_three, one.total) for one in every)),
        *((result, *(tables.share(one.results[result], one.total) for one in every)) for result in RESULTS[2:]),
        ("false alarms on healthy runs", *(tables.share(len(false_alarms(examined, level)), len(healthy(examined))) for level in scores)),
        ("unknown when the cause's family is not in the catalogue", *(tables.share(*one.unseen) for one in every)),
    ]
    says = (
        "Shares with their 95 % Wilson intervals, over faulty runs that had an effect. *Unknown*: no verdict, or only what the curve does; "
        "*missed*: called healthy; *confidently wrong*: another cause with a confidence of 75 % or more. The log *shows* a fault when it "
        "stands further out of the healthy logs of its model, in any stretch of any channel, than any of them stands out of the others: "
        "of the rest nobody could tell from the log alone that anything is wrong."
    )
    return Section("Right cause first", says, ("measure", *names), rows)


def _early(scores: Mapping[str, Score]) -> Section:
    names = tuple(LEVELS[level] for level in scores)
    every = list(scores.values())
    rows = [
        ("step of the onset, off by", *(middle(one.onset) for one in every)),
        ("steps from the onset until the cause is named", *(middle(one.delay) for one in every)),
        ("steps from the first warning until the loss moves", *(middle(one.lead) for one in every)),
    ]
    says = (
        "Median and quartiles. A run is looked at again 5, 8, 13 … steps after its onset, so delays are rounded up to those; the loss "
        "moves where it parts from its clean twin's. A lead is negative where the warning came after the loss had moved."
    )
    return Section("When", says, ("measure", *names), rows)


def _calibration(scores: Mapping[str, Score]) -> Section:
    columns = list(scores.values())
    rows: list[tuple[str, ...]] = []
    for at, (low, high, _, _) in enumerate(columns[0].stated if columns else []):
        cells = [one.stated[at] for one in columns]
        rows.append((f"{low:.0%} to {high:.0%}", *(tables.share(right, count) for _, _, count, right in cells)))
    says = "Of first causes that were stated with so much confidence, how many were right."
    return Section("Calibration", says, ("stated", *(LEVELS[level] for level in scores)), rows)


def _by_fault(examined: Sequence[Examined]) -> Section:
    idle = {one.trial for one in without_effect(examined)}
    names = dict.fromkeys((one.trial.task, one.trial.name) for one in examined if one.trial.truth)
    rows: list[tuple[str, ...]] = []
    for task, name in names:
        own = [one for one in examined if (one.trial.task, one.trial.name) == (task, name) and one.trial not in idle]
        if own:
            right = [sum(classify(one.answers[level].verdict, one.trial.truth) in ("right", "pair") for one in own) for level in LEVELS]
            rows.append((name, task, own[0].trial.truth[0], *(f"{count} of {len(own)}" for count in right)))
    return Section("Each fault", "Right first, or in the open pair.", ("fault", "model", "main cause", *LEVELS.values()), rows)


def _confusions(level: str, score: Score) -> Section:
    wrong = [(true, said, count) for (true, said), count in sorted(score.confusions.items()) if true != said]
    rows = [(true, said, str(count)) for true, said, count in wrong]
    title = f"Confusions, {LEVELS[level]}"
    return Section(title, "What was said where the true cause was not first.", ("true cause", "said", "runs"), rows)


def _healthy(examined: Sequence[Examined]) -> Section:
    kinds = dict.fromkeys((one.trial.task, one.trial.name) for one in healthy(examined))
    rows: list[tuple[str, ...]] = []
    for task, name in kinds:
        own = [one for one in healthy(examined) if (one.trial.task, one.trial.name) == (task, name)]
        alarms = {level: false_alarms(own, level) for level in LEVELS}
        said = {verdict.alarm.id for level, some in alarms.items() for one in some if (verdict := one.answers[level].verdict).alarm}
        rows.append((name, task, str(len(own)), *(str(len(some)) for some in alarms.values()), ", ".join(sorted(said))))
    return Section("Healthy runs", "Alarms by kind.", ("kind", "model", "runs", *LEVELS.values(), "said"), rows)


def _idle(examined: Sequence[Examined]) -> Section:
    found = without_effect(examined)
    names = dict.fromkeys((one.trial.task, one.trial.name) for one in found)
    rows: list[tuple[str, ...]] = []
    for task, name in names:
        own = [one for one in found if (one.trial.task, one.trial.name) == (task, name)]
        said = {one.answers["probed"].verdict.first.id for one in own if one.answers["probed"].verdict.first}  # pyright: ignore[reportOptionalMemberAccess]
        rows.append((name, task, ", ".join(str(one.trial.seed) for one in own), ", ".join(sorted(said)) or "nothing"))
    says = "Faults whose run ends as its clean twin does, within three standard deviations of plain runs' ends: listed, not scored."
    return Section("Without effect", says, ("fault", "model", "seeds", "said"), rows)


def _peers(peers: Sequence[PeerScore], examined: Sequence[Examined]) -> Section:
    calm = len(healthy(examined))
    rows: list[tuple[str, ...]] = []
    for one in peers:
        flagged, right = tables.share(one.flagged, one.total), tables.share(one.right, one.total)
        rows.append((f"{one.name} {one.version}", flagged, right, tables.share(one.alarms, calm), str(one.unread)))
    says = "The same logs. A peer is right when the first thing that it flags may stand for a true cause, as `bench/peers.toml` has it."
    return Section("Peers", says, ("tool", "flagged", "cause or symptom first", "alarms on healthy runs", "not read"), rows)


def _machine() -> str:
    libraries = ", ".join(f"{name} {version(name)}" for name in ("torch", "numpy"))
    return f"{datetime.now(UTC):%Y-%m-%d}, sismo {__version__}, Python {platform.python_version()}, {libraries}, {platform.machine()}."
