"""What detectors look at: the series of a run, with the statistics that several of them share worked out once.

A view is filled whole from a run (``View.of``) or row by row while a run is being recorded (``update``). Both ways lead to the same
observations: the statistics take their input in chunks of any size, and a row is a chunk of one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast

import numpy as np

from sismo.records.channels import LOSS_SCALE, LR
from sismo.records.numeric import median
from sismo.records.objective import clips_a_policy, objective, regresses_a_choice
from sismo.records.types import RECORDED, Event, Header, Note, Run, Series, Steps, Values
from sismo.signals import scale as scales
from sismo.signals import schedule as schedules
from sismo.signals.levels import finite, noise, part_levels
from sismo.signals.nonfinite import NonfiniteTracker, Span
from sismo.signals.scale import ScaleHistory
from sismo.signals.schedule import Schedule
from sismo.signals.spikes import Spike, SpikeRule, SpikeTracker
from sismo.signals.trend import Trend, recent_trend, trend_beside_step

_LOOKS = 3
"""Looks at the targets that tell what they are like all along."""
_DRIFTS = 3.0
"""Mann-Kendall z of a trend of the targets that chance makes in 1 of 370 runs."""
_WORD = re.compile(r"[a-z]+")
_LEAST_RECOVER_ROWS = 10
"""Rows that a spike is given to come back, however sparse the log: fewer could not tell a recovery from noise."""
_LEAST_REBASELINE_ROWS = 25
"""Rows of a new level before it is the baseline: a little more than the fewest that rows can be judged by."""
_INTERVAL_ROWS = 32
"""Rows that the interval of a channel is learnt from. The first ones, so that a live view and one of a whole run find the same."""


class _Column:
    """The rows of one channel, and how far each tracker has read them."""

    def __init__(self, channel: str, source_key: str = "") -> None:
        self.channel = channel
        self.source_key = source_key
        self.steps: Steps = np.empty(64, dtype=np.int64)
        self.values: Values = np.empty(64, dtype=np.float64)
        self.rows = 0
        self.spikes: SpikeTracker | None = None
        self.rule: SpikeRule | None = None
        self.spikes_read = 0
        self.nonfinite = NonfiniteTracker()
        self.nonfinite_read = 0
        self.cache: dict[str, Any] = {}

    @classmethod
    def of(cls, series: Series) -> _Column:
        """A column that holds a whole series; its arrays are not copied."""
        column = cls(series.channel, series.source_key)
        column.steps, column.values, column.rows = series.steps, series.values, len(series)
        column.cache["series"] = series
        return column

    def append(self, step: int, value: float) -> None:
        if self.rows and step <= int(self.steps[self.rows - 1]):
            raise ValueError(f"{self.channel}: step {step} comes after step {int(self.steps[self.rows - 1])}")
        if self.rows == self.steps.size:
            self.steps, self.values = _grown(self.steps), _grown(self.values)
        self.steps[self.rows] = step
        self.values[self.rows] = value
        self.rows += 1
        self.cache.clear()

    def series(self) -> Series:
        return self.cached("series", lambda: Series(self.channel, self.steps[: self.rows], self.values[: self.rows], self.source_key))

    def interval(self) -> float:
        steps = self.steps[: min(self.rows, _INTERVAL_ROWS)]
        return max(float(median(np.diff(steps))), 1.0) if steps.size > 1 else 1.0

    def finite(self) -> Series:
        return self.cached("finite", lambda: finite(self.series()))

    def cached(self, name: str, work_out: Callable[[], Any]) -> Any:
        if name not in self.cache:
            self.cache[name] = work_out()
        return self.cache[name]


def _grown(array: Any) -> Any:
    larger = np.empty(max(64, 2 * array.size), dtype=array.dtype)
    larger[: array.size] = array
    return larger


class View:
    """The series, events and header of one run, whole or so far.

    Thresholds are read from ``limits`` by name. The statistics themselves use ``spike-window`` (100 rows), ``spike-sigma`` (3),
    ``spike-confirm-z`` (5; 0 reads the user's document to the letter and confirms nothing), ``spike-recover-sigma`` (0.5),
    ``spike-recover-steps`` (50), ``trend-steps`` (200), ``lr-jump`` (0.05) and ``lr-rise`` (0.2).
    """

    def __init__(self, limits: Mapping[str, float], header: Header) -> None:
        self._limits = limits
        self._header = header
        self._columns: dict[str, _Column] = {}
        self._events: list[Event] = []
        self._notes: tuple[Note, ...] = ()
        self._scale: tuple[ScaleHistory | None] | None = None
        self._first_step: int | None = None
        self._last_step = -1

    @classmethod
    def of(cls, run: Run, limits: Mapping[str, float]) -> View:
        """A view of a run that is there whole."""
        view = cls(limits, run.header)
        view._events.extend(run.events)
        view._notes = run.notes
        view._columns.update((name, _Column.of(series)) for name, series in run.series.items())
        for series in run.series.values():
            if len(series):
                view._reach(int(series.steps[0]), int(series.steps[-1]))
        for event in run.events:
            view._reach(event.step, event.step)
        return view

    def update(self, step: int, values: Mapping[str, float]) -> None:
        """One row of a run in progress. Steps of a channel must rise."""
        for channel, value in values.items():
            column = self._columns.get(channel)
            if column is None:
                column = self._columns[channel] = _Column(channel)
            column.append(step, value)
        self._reach(step, step)

    def event(self, event: Event) -> None:
        """Something that happened in a run in progress."""
        self._events.append(event)
        self._reach(event.step, event.step)

    def _reach(self, first: int, last: int) -> None:
        self._first_step = first if self._first_step is None else min(self._first_step, first)
        self._last_step = max(self._last_step, last)
        self._scale = None

    @property
    def header(self) -> Header:
        """What is known of the run besides its numbers."""
        return self._header

    @property
    def objective(self) -> str | None:
        """``rl`` or ``gan`` where the keys of a log, or the terms that a recorder was given, show such an objective.

        ``rl`` too where a recorded loss draws one picked output of a plain network to a number, which is what an action is worth, or clips
        the ratio of a policy. Outputs that are picked by their places may be those of a mask: there the targets have to drift as well.
        ``contrast`` where the targets that it saw do: of many similarities always the first, for which no layer has as many outputs. The
        others come out of a queue, which is random at first and gets hard.
        """
        if self._header.objective is not None or self._header.source != RECORDED:
            return self._header.objective
        shown = objective(
            [frozenset({*_WORD.findall(series.channel.partition("/")[2].lower()), "loss"}) for series in self.family("loss_term")]
        )
        graphs = [] if shown is not None else list(self._graphs())
        if any(regresses_a_choice(ops) or clips_a_policy(ops) for ops in graphs):
            return "rl"
        if any(regresses_a_choice(ops, moving=True) for ops in graphs) and self._targets_drift():
            return "rl"
        return shown or ("contrast" if self._is_a_contrast() else None)

    def _graphs(self) -> Iterator[Sequence[str]]:
        """The operations that each loss was made of whose whole graph was seen."""
        for event in self._events:
            ops = event.data.get("ops") if event.kind == "graph" and event.data.get("whole") else None
            if isinstance(ops, list):
                yield cast("list[str]", ops)

    def _targets_drift(self) -> bool:
        """Whether the level of the targets goes on moving, as the values that an agent learns do: labels that go wrong move it once."""
        levels = self.finite("target/level")
        return levels is not None and abs(trend_beside_step(levels.values)) > _DRIFTS

    def _is_a_contrast(self) -> bool:
        levels = self.finite("target/level")
        first = levels is not None and len(levels) >= _LOOKS and not levels.values.any()
        return first and self.rows("target/classes") >= _LOOKS and not self.rows("target/spread")

    @property
    def events(self) -> tuple[Event, ...]:
        """Everything that happened, in the order in which it was told."""
        return tuple(self._events)

    @property
    def notes(self) -> tuple[Note, ...]:
        """Remarks on how the run was read; none while it is being recorded."""
        return self._notes

    @property
    def channels(self) -> tuple[str, ...]:
        """The names of all channels, in the order of the log."""
        return tuple(self._columns)

    @property
    def first_step(self) -> int | None:
        """The first step of any channel; None where there is none."""
        return self._first_step

    @property
    def last_step(self) -> int:
        """The last step of any channel or event; -1 where there is none."""
        return self._last_step

    def limit(self, name: str) -> float:
        """A threshold by name. Raises KeyError naming it where there is no such threshold."""
        try:
            return self._limits[name]
        except KeyError:
            raise KeyError(f"no threshold is called {name!r}") from None

    def fact(self, name: str) -> object:
        """What the recorder wrote down about the run under a name; None where nothing was recorded."""
        return self.header.fact(name)

    def series(self, channel: str) -> Series | None:
        """All rows of a channel; None where it was never logged."""
        column = self._columns.get(channel)
        return column.series() if column is not None else None

    def finite(self, channel: str) -> Series | None:
        """The rows of a channel with a finite value; None where it was never logged."""
        column = self._columns.get(channel)
        return column.finite() if column is not None else None

    def family(self, name: str) -> list[Series]:
        """All series of a family, in the order of the log."""
        return [column.series() for channel, column in self._columns.items() if channel.partition("/")[0] == name]

    def rows(self, channel: str) -> int:
        """Rows of a channel, finite or not; 0 where it was never logged."""
        column = self._columns.get(channel)
        return column.rows if column is not None else 0

    def spikes(self, channel: str) -> tuple[Spike, ...]:
        """The spikes of a channel; none where it was never logged."""
        column = self._columns.get(channel)
        return column.cached("spikes", lambda: self._spikes(column)) if column is not None else ()

    def nonfinite(self, channel: str) -> tuple[Span, ...]:
        """The stretches of a channel that are NaN or infinite; none where it was never logged."""
        column = self._columns.get(channel)
        if column is None:
            return ()
        if column.nonfinite_read < column.rows:
            fresh = slice(column.nonfinite_read, column.rows)
            column.nonfinite.extend(column.steps[fresh], column.values[fresh])
            column.nonfinite_read = column.rows
        return column.nonfinite.spans

    def level(self, channel: str) -> float:
        """The median of the finite rows of a channel; NaN where there is none."""
        column = self._columns.get(channel)
        return column.cached("level", lambda: median(column.finite().values)) if column is not None else math.nan

    def noise(self, channel: str) -> float:
        """The row-to-row noise of the finite rows of a channel, in its units (``levels.noise``); 0.0 where it was never logged."""
        column = self._columns.get(channel)
        return column.cached("noise", lambda: noise(column.finite().values)) if column is not None else 0.0

    def parts(self, channel: str, count: int) -> Values:
        """The levels of so many parts of the finite rows of a channel (``levels.part_levels``); empty where it was never logged."""
        column = self._columns.get(channel)
        return column.cached(f"parts {count}", lambda: part_levels(column.finite().values, count)) if column is not None else np.empty(0)

    def trend(self, channel: str) -> Trend | None:
        """The trend of a channel over the last ``trend-steps`` steps; None with too few rows."""
        column = self._columns.get(channel)
        if column is None:
            return None
        return column.cached("trend", lambda: recent_trend(column.finite(), int(self._limits.get("trend-steps", 200))))

    def schedule(self, channel: str = LR) -> Schedule | None:
        """The shape of a learning-rate channel; None with fewer than 2 rows."""
        column = self._columns.get(channel)
        if column is None:
            return None
        jump, rise = self._limits.get("lr-jump", 0.05), self._limits.get("lr-rise", 0.2)
        return column.cached("schedule", lambda: schedules.describe(column.finite(), jump, rise))

    def scale(self) -> ScaleHistory | None:
        """What the loss scale did; None where nothing is known of it."""
        if self._scale is None:
            overflows = [event for event in self._events if event.kind == "overflow"]
            skipped = next(iter(self.family("skipped")), None)
            found = scales.describe(self.series(LOSS_SCALE), overflows, skipped, first_step=self._first_step, last_step=self._last_step)
            self._scale = (found,)
        return self._scale[0]

    def _spikes(self, column: _Column) -> tuple[Spike, ...]:
        rule = self._rule(column)
        if column.spikes is None or column.rule != rule:  # the interval is learnt from the first rows; they are few, so read them again
            column.spikes, column.rule, column.spikes_read = SpikeTracker(rule), rule, 0
        fresh = slice(column.spikes_read, column.rows)
        column.spikes.extend(column.steps[fresh], column.values[fresh])
        column.spikes_read = column.rows
        return column.spikes.spikes

    def _rule(self, column: _Column) -> SpikeRule:
        """The rule for a channel as often logged as this one.

        The window is in rows however sparse the log is, because that is what a scale holds on. The time to recover is in steps, but a spike
        is given 10 rows at least: fewer cannot tell a recovery from noise.
        """
        get = self._limits.get
        confirm_z = get("spike-confirm-z", 5.0)
        recover = max(math.ceil(get("spike-recover-steps", 50) / column.interval()), _LEAST_RECOVER_ROWS)
        return SpikeRule(
            window=int(get("spike-window", 100)),
            nominate_sigma=get("spike-sigma", 3.0),
            confirm_z=confirm_z if confirm_z > 0.0 else 5.0,
            recover_sigma=get("spike-recover-sigma", 0.5),
            recover_rows=recover,
            rebaseline_rows=max(recover, _LEAST_REBASELINE_ROWS),
            confirm=confirm_z > 0.0,
        )
