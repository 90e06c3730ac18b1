"""What the script draws: the series of every plot, thinned and packed, with their axes, lines and marks, as one plain mapping."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sismo.dashboard import marks
from sismo.dashboard.alarms import NOTED, alarms, first_alarm, flagged
from sismo.dashboard.packing import Packed, pack
from sismo.dashboard.panel import Limits, Panel, Plot
from sismo.dashboard.registry import panels
from sismo.dashboard.sampling import Whole, buckets, spans, thinned, whole
from sismo.postmortem import PostMortem, Text
from sismo.records.types import Run, Series
from sismo.report.language import Language

MANY = 12
"""Series of a plot beyond which it is a heat map: more lines than that cannot be told apart."""

_OVERVIEW_ROWS = 150_000
"""Rows of all overviews together. With sixty series that is 2,500 each, over twice what a panel has pixels."""
_WHOLE_ROWS = 700_000
"""Rows that are kept whole around flagged steps, in all: about 1.5 MB of the page."""


class Drawn(NamedTuple):
    """One plot: the plot, how many series it has, how to come by some, and whether it is optional and 0 all over: a sentence says so."""

    plot: Plot
    members: int
    record: Text
    nothing: bool = False


class Shown(NamedTuple):
    """One panel as it stands on the page.

    ``alarm`` is the step of its first alarm, ``first`` whether it cried first, ``noted`` the first step that a note rests on.
    """

    panel: Panel
    drawn: Sequence[Drawn]
    alarm: int | None
    first: bool
    noted: int | None

    @property
    def missing(self) -> bool:
        """Whether nothing was recorded for it."""
        return not any(one.members for one in self.drawn)


class Drawing(NamedTuple):
    """Everything that the page shows as a picture. ``whole`` says which flagged steps are kept whole."""

    shown: Sequence[Shown]
    facts: Mapping[str, object]
    packed: Packed
    whole: Whole


def draw(document: PostMortem, run: Run, language: Language, limits: Limits, baseline: Run | None = None) -> Drawing:
    """Lays the run out in panels."""
    cried, noted = alarms(document, panels()), alarms(document, panels(), NOTED)
    shown: list[Shown] = []
    for panel in panels():
        drawn = [_drawn(plot, run) for plot in panel.plots]
        kept = [one for one in drawn if one.members or not one.plot.optional]
        if kept or not panel.optional:
            shown.append(Shown(panel, kept, cried.get(panel.id), panel.id == next(iter(cried), ""), noted.get(panel.id)))
    series: list[Series] = []
    roles: list[dict[str, object]] = []
    plots: list[dict[str, object]] = []
    for place in shown:
        for one in place.drawn:
            if one.members and not one.nothing:
                plots.append({**_plot(place, one, run, language, limits), "alarm": first_alarm(document, one.plot)})
                _take(one.plot.of(run), plots, series, roles, under=False)
                _take(one.plot.of(baseline) if baseline is not None else [], plots, series, roles, under=True)
    rough = buckets(series, _OVERVIEW_ROWS)
    kept = whole(flagged(document, run), series, _WHOLE_ROWS)
    packed = pack([thinned(one, rough, centres) for one, centres in zip(series, kept.centres, strict=True)])
    for role, (rows, first, power), one, centres in zip(roles, packed.layout, series, kept.centres, strict=True):
        role |= {"rows": rows, "first": first, "power": power, "of": len(one)}
        if rows < len(one) and centres.size > len(kept.everywhere):
            role["whole"] = spans(centres.tolist())
    facts: dict[str, object] = {
        "unit": language.word(document.step_unit),
        "span": _span(run),
        "planes": packed.planes,
        "plots": plots,
        "series": roles,
        "marks": marks.marks(document, run, panels(), language),
        "kinds": marks.names(language),
        "whole": spans(kept.everywhere),
    }
    return Drawing(shown, facts, packed, kept)


def _drawn(plot: Plot, run: Run) -> Drawn:
    found = plot.of(run)
    nothing = plot.optional and bool(found) and not any(bool(one.values.any()) for one in found)
    return Drawn(plot, len(found), plot.record(run), nothing)


def _plot(place: Shown, one: Drawn, run: Run, language: Language, limits: Limits) -> dict[str, object]:
    return {
        "panel": place.panel.id,
        "at": place.panel.plots.index(one.plot),
        "heat": one.members > MANY,
        "log": one.plot.log,
        "worst": one.plot.worst,
        "bounds": one.plot.bounds,
        "lines": [
            {"label": language.say(line.label), "value": line.value, "bad": line.bad, "until": line.until}
            for line in one.plot.lines(run, limits)
            if math.isfinite(line.value)
        ],
    }


def _take(found: Sequence[Series], plots: Sequence[object], series: list[Series], roles: list[dict[str, object]], *, under: bool) -> None:
    for one in found:
        series.append(one)
        roles.append({"plot": len(plots) - 1, "channel": one.channel, "label": label(one.channel), "under": under})


def label(channel: str) -> str:
    """What a series is called in a legend: its member, or the whole channel where that would say nothing."""
    member = channel.partition("/")[2]
    return channel if not member or member.isdigit() else member


def _span(run: Run) -> tuple[int, int]:
    """First and last step of anything that is drawn."""
    ends = [(int(one.steps[0]), int(one.steps[-1])) for one in run.series.values() if len(one)]
    ends += [(event.step, event.step) for event in run.events]
    low, high = (min(low for low, _ in ends), max(high for _, high in ends)) if ends else (0, 1)
    return (low, high) if high > low else (low, low + 1)
