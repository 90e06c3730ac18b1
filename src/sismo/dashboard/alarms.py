"""Which panel cried first: the first alarm of each, and the steps of a run that are worth every row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set

from sismo.dashboard.panel import Panel, Plot
from sismo.dashboard.sampling import Flag
from sismo.postmortem import CauseItem, EvidenceItem, PostMortem
from sismo.records.types import Run

ALARMING = frozenset({"broken", "warning"})
"""Severities that make a panel cry. A note does not: it would cry in many healthy runs."""
NOTED = frozenset({"note"})

_URGENT = ("nonfinite", "crash", "resume", "guard", "overflow", "skipped_step", "warning")
"""Kinds of event whose surroundings are kept whole, the rarest and gravest first."""
_ABOUT = {"overflow": "loss_scale", "skipped_step": "loss_scale"}
"""The channel that an event of a kind is about."""


def alarms(document: PostMortem, panels: Sequence[Panel], severities: Set[str] = ALARMING) -> dict[str, int]:
    """Panel id to the step of its first alarm (or note), the earliest first; panels that raised none are not there."""
    first: dict[str, int] = {}
    for step, item in _alarming(document.causes, severities):
        owner = owner_of(item.channel, panels)
        if owner is not None:
            first[owner.id] = min(first.get(owner.id, step), step)
    # Sorting is stable: of panels that cry at one step the one that the gravest cause rests on comes first.
    return dict(sorted(first.items(), key=lambda entry: entry[1]))


def first_alarm(document: PostMortem, plot: Plot) -> int | None:
    """The step of the first alarm about what a plot draws, or None."""
    return min((step for step, item in _alarming(document.causes, ALARMING) if plot.owns(item.channel)), default=None)


def owner_of(channel: str, panels: Sequence[Panel]) -> Panel | None:
    """The panel that draws a channel."""
    return next((panel for panel in panels if channel and panel.owns(channel)), None)


def flagged(document: PostMortem, run: Run) -> Iterator[Flag]:
    """Steps to keep whole, the most important first: what the causes rest on, then what happened in the run."""
    for cause in document.causes:
        if cause.step is not None:
            yield Flag(cause.step)
        for item in cause.evidence:
            yield from (Flag(step, item.channel) for step in (item.start, item.end) if step is not None)
    for kind in _URGENT:
        yield from (Flag(event.step, _ABOUT.get(kind, "")) for event in run.events_of(kind))


def _alarming(causes: Sequence[CauseItem], severities: Set[str]) -> Iterator[tuple[int, EvidenceItem]]:
    """Evidence with the step at which it alarmed: not before its cause began, since what it spans may start in calm."""
    for cause in causes:
        for item in cause.evidence:
            if cause.severity in severities and item.start is not None:
                yield max(item.start, cause.step or 0), item
