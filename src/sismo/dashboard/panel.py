"""What a panel is: a number in the user's order, and one or more plots, each of some families of channels.

The panels themselves are the modules of ``panels/``, found by ``registry``; each offers one as ``PANEL``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from sismo.postmortem import Text, to_record
from sismo.records.types import Run, Series

Limits = Mapping[str, float]


class Line(NamedTuple):
    """A value that a rule compares with, drawn across a plot.

    ``bad`` is the side that alarms: ``above``, ``below`` or none. ``until`` is the last step that the rule looks at, where it looks at the
    start of a run only.
    """

    label: Text
    value: float
    bad: str = ""
    until: int | None = None


def no_lines(run: Run, limits: Limits) -> list[Line]:
    """For a plot without a rule of its own."""
    return []


class Plot(NamedTuple):
    """One pair of axes.

    Attributes:
        title: what is drawn. families: channels (``loss/train``) and families (``head_entropy``) in it, in the order of drawing.
        lines: the thresholds that a rule uses on it. bounds: lowest and highest value of the axis where the quantity has some.
        worst: which value of several in one column of a heat map is shown: ``high`` or ``low``.
        log: ``auto`` takes a logarithmic axis when the range asks for it; ``never`` does not.
        optional: a plot that nobody misses: it is left out when nothing was recorded.
    """

    title: Text
    families: tuple[str, ...]
    lines: Callable[[Run, Limits], list[Line]] = no_lines
    bounds: tuple[float, float] | None = None
    worst: str = "high"
    log: str = "auto"
    optional: bool = False

    def of(self, run: Run) -> list[Series]:
        """The series of a run that belong here, those without a row left out."""
        found = {
            name: series
            for wanted in self.families
            for name, series in run.series.items()
            if len(series) and wanted in (name, name.partition("/")[0])
        }
        return list(found.values())

    def owns(self, channel: str) -> bool:
        """Whether a channel is drawn here, or would be."""
        return any(channel == wanted or channel.partition("/")[0] == wanted for wanted in self.families)

    def record(self, run: Run) -> Text:
        """What to do so that this plot is not empty."""
        return to_record(self.families[0], run)


class Panel(NamedTuple):
    """One panel.

    Attributes:
        id: kebab-case. number: the one that the user knows it by, as in ``records.channels``.
        title, asks: what it is, and the question that it answers.
        plots: the first one is the panel; without data in it the panel counts as missing.
        optional: left out of the page when nothing was recorded, instead of standing there empty.
    """

    id: str
    number: int
    title: Text
    asks: Text
    plots: tuple[Plot, ...]
    optional: bool = False

    def owns(self, channel: str) -> bool:
        """Whether a channel is drawn here, or would be."""
        return any(plot.owns(channel) for plot in self.plots)
