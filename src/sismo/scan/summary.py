"""A scan in a few lines of text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sismo.postmortem import Text
from sismo.report.page import Page
from sismo.scan.groups import groups, tally
from sismo.scan.scanning import Scanned
from sismo.scan.types import STATES, Row, State

COUNTED: Mapping[State, Text] = {
    "broken": Text("{count:,} {count:broken|broken}"),
    "warning": Text("{count:,} with {count:a warning|warnings}"),
    "unjudged": Text("{count:,} without a verdict"),
    "healthy": Text("{count:,} {count:healthy|healthy}"),
    "unread": Text("{count:,} not read"),
}
"""How many runs are in each state."""

_MARKS = {"unread": "unknown"}
_SHOWN = 12


def headline(rows: Sequence[Row]) -> Text:
    """The scan in one sentence."""
    failing = sum(row.fails for row in rows)
    runs = sum(not row.error for row in rows)
    if not runs:
        return Text("No run could be read.")
    if not failing:
        return Text("Nothing at warning or worse in {runs} {runs:run|runs}.", {"runs": f"{runs:,}"})
    return Text("{failing} of {runs} runs {failing:fails|fail}.", {"failing": f"{failing:,}", "runs": f"{runs:,}"})


def counted(name: State, count: int) -> Text:
    """How many runs are in a state."""
    return COUNTED[name]._replace(numbers={"count": count})


def state(rows: Sequence[Row]) -> State:
    """The state of the whole: that of the run that needs attention most."""
    counts = tally(rows)
    found: list[State] = [name for name in STATES if counts[name] and name != "unread"]
    return found[0] if found else "unjudged"


def strays(scanned: Scanned) -> Text | None:
    """What was passed over, or None."""
    return (
        Text(
            "{count} {count:file|files} beside the runs {count:is no log and was|are no logs and were} passed over.",
            {"count": scanned.strays},
        )
        if scanned.strays
        else None
    )


def render(scanned: Scanned, page: Page) -> str:
    """The scan for a terminal: the sentence, how many runs are in which state, and the causes, gravest first."""
    rows = scanned.rows
    counts = tally(rows)
    lines = [page.paint(page.say(headline(rows)), "bold")]
    shown: list[State] = [name for name in STATES if counts[name]]
    lines.append("  ".join(f"{page.mark(_MARKS.get(name, name))} {page.say(counted(name, counts[name]))}" for name in shown))
    found = groups(rows)
    if found:
        wide = max(len(group.cause) for group in found[:_SHOWN])
        lines.append("")
        for group in found[:_SHOWN]:
            link = group.links[0] if group.links else None
            by = f"  {link.setting} = {link.value}" if link else ""
            step = "" if group.step is None else f"{page.word(group.rows[0].step_unit)} {group.step:,}"
            lines.append(f"{page.mark(group.severity)} {len(group.rows):>7,}  {group.cause:<{wide}}  {step}{by}".rstrip())
    said = strays(scanned)
    if said is not None:
        lines += ["", page.say(said)]
    return "\n".join(lines)
