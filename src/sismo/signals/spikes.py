"""Steps at which a series jumps up: nominated by 3 sigma, confirmed by a robust z, followed until the series is back.

The rule to the letter (value > mean + 3 sigma of the 100 rows before) raises 0.84 false alarms per 1,000 healthy rows, all of which
"recover"; a robust z over 5, or two rows in a row, confirms without any (docs/measured.md). What no later
input may undo: non-finite values are skipped before anything else looks at them, and flagged rows never enter a baseline, so neither a
NaN nor a spike can blind the rows that follow (docs/sources.md, "Defects seen in others").

Rows are judged in blocks, each row against the clean rows before it; every operation is elementwise or an order statistic, so a verdict
does not depend on how the input was cut. Memory is bounded by the history that is kept (1,024 rows) and by the spikes found.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sismo.records.types import Steps, Values
from sismo.signals.baseline import IN_DOUBT, Baseline, Verdict, widening
from sismo.signals.opening import lone
from sismo.signals.rolling import Floats
from sismo.signals.tails import Tail


class SpikeRule(NamedTuple):
    """What counts as a spike.

    Attributes:
        window: clean rows that the baseline is made of. min_points: the fewest that it may be made of while the log is short.
        nominate_sigma: standard deviations over the mean, or over a trend, that nominate a row.
        confirm_z: robust z that confirms it. two_in_a_row: whether two rows running, both over 0.8 of that, confirm as well.
        recover_sigma: how near the level before, in scales, counts as back. recover_rows: rows within which it has to be.
        rebaseline_rows: rows after which a level that stays is the new baseline.
        confirm: False reads the user's document to the letter: each nominated row is a spike, and there is none before ``window`` rows.
    """

    window: int = 100
    min_points: int = 20
    nominate_sigma: float = 3.0
    confirm_z: float = 5.0
    two_in_a_row: bool = True
    recover_sigma: float = 0.5
    recover_rows: int = 50
    rebaseline_rows: int = 50
    confirm: bool = True


class Spike(NamedTuple):
    """One stretch of flagged rows.

    Attributes:
        start, end: first and last flagged step. peak_step, peak: the highest. rows: flagged rows.
        before: the level just before: the greatest of two forecasts and of the median of the last 10 clean rows (to the letter: the mean).
        scale: the spread that it is measured with. z: (peak - before) / scale.
        recovered: True back in time, False not, None the log ends before that can be said. recovered_at: the first step back.
        prominence: its height over how far noise alone reaches in the last 1,000 clean rows (``tails.Tail``), which is about 4 scales for
            Gaussian noise. In heavy-tailed noise, and where noise multiplies, it seldom passes 2, however large z is.
    """

    start: int
    end: int
    peak_step: int
    peak: float
    before: float
    scale: float
    z: float
    rows: int
    recovered: bool | None
    recovered_at: int | None
    prominence: float


_SETTLED = 5
"""Rows in a row, none flagged, whose median says that the series is back. One row in noise comes that low by chance from 2 scales up
(7 %), and is not that low in 31 % of the rows after a true recovery; the median of five errs in 0.3 % and 13 %, and may try again."""


_SMALL, _LARGE = 256, 16384
"""Rows judged together: few after a spike, whose end is near, then more and more. The verdicts do not depend on it."""
_KNOWN = 100
"""Clean rows from which on the reach of the noise is known; a tail that is drawn out from fewer is too short where noise multiplies."""
_ENOUGH = 8192
"""Rows that may wait for a judgement that nobody has asked for."""


class _Stretch:
    """A spike that is going on."""

    def __init__(self, rule: SpikeRule, verdict: Verdict, noise: Tail) -> None:
        self._rule = rule
        self._verdict = verdict
        self._noise = noise
        self._steps: list[int] = []
        self._values: list[float] = []
        self._last_flagged = 0
        self._flagged = 0
        self._peak = 0

    def add(self, step: int, value: float) -> bool:
        """Takes the next row; returns whether the series is back."""
        rule, verdict = self._rule, self._verdict
        place = len(self._values)
        self._steps.append(step)
        self._values.append(value)
        bar = verdict.before + (IN_DOUBT * rule.confirm_z if rule.confirm else rule.nominate_sigma) * verdict.scale
        if place == 0 or value > bar:
            self._last_flagged = place
            self._flagged += 1
            if value > self._values[self._peak]:
                self._peak = place
            return False
        level = verdict.before + rule.recover_sigma * verdict.scale
        if not rule.confirm:
            return value <= level
        calm = place - self._last_flagged
        return calm >= _SETTLED and sorted(self._values[-_SETTLED:])[_SETTLED // 2] <= level

    @property
    def spent(self) -> bool:
        """Whether it has lasted so long that its level is the new baseline."""
        return len(self._values) >= max(self._rule.rebaseline_rows, self._rule.recover_rows + 1)

    def back(self) -> int:
        """Position of the first row at the level, once ``add`` said that the series is back."""
        level = self._verdict.before + self._rule.recover_sigma * self._verdict.scale
        place = self._last_flagged + 1
        while self._values[place] > level:
            place += 1
        return place

    def rows_from(self, place: int) -> Floats:
        """The values from a position on."""
        return np.array(self._values[place:], dtype=np.float64)

    def spike(self, back: int | None = None) -> Spike:
        """What is known of it; ``back`` is the position where the series was back."""
        if back is not None:
            recovered: bool | None = back <= self._rule.recover_rows
        else:
            recovered = False if len(self._values) > self._rule.recover_rows else None
        peak, verdict = self._values[self._peak], self._verdict
        z = (peak - verdict.before) / verdict.scale
        return Spike(
            start=self._steps[0],
            end=self._steps[self._last_flagged],
            peak_step=self._steps[self._peak],
            peak=peak,
            before=verdict.before,
            scale=verdict.scale,
            z=z,
            rows=self._flagged,
            recovered=recovered,
            recovered_at=None if back is None else self._steps[back],
            prominence=self._noise.prominence(peak, verdict.before, verdict.scale),
        )


class SpikeTracker:
    """Finds the spikes of one series that comes in chunks of any size."""

    def __init__(self, rule: SpikeRule) -> None:
        self._rule = rule
        self._baseline = Baseline(
            window=rule.window,
            least=rule.min_points if rule.confirm else rule.window,
            sigma=rule.nominate_sigma,
            confirm_z=rule.confirm_z,
            two_in_a_row=rule.two_in_a_row,
            literal=not rule.confirm,
        )
        self._opened = not rule.confirm
        self._done: list[Spike] = []
        self._young = 0  # of those, how many were found before the baseline knew the noise
        self._stretch: _Stretch | None = None
        self._steps: Steps = np.empty(0, dtype=np.int64)
        self._values: Values = np.empty(0, dtype=np.float64)
        self._waiting: list[tuple[Steps, Values]] = []
        self._waiting_rows = 0

    def update(self, step: int, value: float) -> None:
        """One row."""
        self.extend(np.array([step], dtype=np.int64), np.array([value], dtype=np.float64))

    def extend(self, steps: Steps, values: Values) -> None:
        """The next rows. They are judged when somebody asks, or when enough have come together."""
        good = np.isfinite(values)
        if not bool(np.all(good)):
            steps, values = steps[good], values[good]
        if values.size:
            self._waiting.append((steps.astype(np.int64), values.astype(np.float64)))
            self._waiting_rows += int(values.size)
            if self._waiting_rows >= _ENOUGH:
                self._judge()

    @property
    def spikes(self) -> tuple[Spike, ...]:
        """All spikes so far, in order; the last may still be going on."""
        self._judge()
        going_on = () if self._stretch is None else (self._stretch.spike(),)
        return (*self._weighed_again(), *self._done[self._young :], *going_on)

    @property
    def baseline(self) -> tuple[float, float] | None:
        """Mean and robust scale of the clean rows in the window; None while there are too few."""
        self._judge()
        return self._baseline.now()

    def _judge(self) -> None:
        if not self._waiting:
            return
        self._steps = np.concatenate([self._steps, *(steps for steps, _ in self._waiting)])
        self._values = np.concatenate([self._values, *(values for _, values in self._waiting)])
        self._waiting, self._waiting_rows = [], 0
        if not self._opened and not self._open():
            return
        place, block = 0, _SMALL
        while place < self._values.size:
            if self._stretch is not None:
                place, block = self._follow(self._stretch, place), _SMALL
                continue
            took, verdict = self._baseline.take(self._values[place : place + block])
            place += took
            if verdict is not None:
                if self._young == len(self._done) and self._baseline.rows < _KNOWN:
                    self._young += 1
                self._stretch = _Stretch(self._rule, verdict, self._baseline.tail())
            elif not took:
                break  # the last row is in doubt until the next one comes
            else:
                block = min(block * 2, _LARGE)
        self._steps, self._values = self._steps[place:], self._values[place:]

    def _open(self) -> bool:
        """Takes the first rows all at once: each is judged by those on both sides. False while there are too few for a baseline."""
        rule, rows = self._rule, self._rule.min_points
        if self._values.size < rows:
            return False
        steps, values = self._steps[:rows], self._values[:rows]
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            found = lone(values, rule.confirm_z * widening(rule.confirm_z, rows // 2))
        for places, before, scale in found:
            peak = max(places, key=lambda place: float(values[place]))
            start, end, back = (int(steps[place]) for place in (places[0], places[-1], places[-1] + 1))
            z = (float(values[peak]) - before) / scale
            self._done.append(Spike(start, end, int(steps[peak]), float(values[peak]), before, scale, z, len(places), True, back, math.inf))
        self._young = len(self._done)
        self._baseline.accept(np.delete(values, [place for stretch in found for place in stretch.places]))
        self._steps, self._values, self._opened = self._steps[rows:], self._values[rows:], True
        return True

    def _weighed_again(self) -> list[Spike]:
        """The first spikes, no more prominent than they are over the noise that is known by now."""
        noise = self._baseline.tail() if self._young else Tail()
        return [
            spike._replace(prominence=min(spike.prominence, noise.prominence(spike.peak, spike.before, spike.scale)))
            for spike in self._done[: self._young]
        ]

    def _follow(self, stretch: _Stretch, place: int) -> int:
        """Feeds an open stretch from ``place`` on, and closes it if it ends. Returns the next row to judge."""
        for step, value in zip(self._steps[place : place + _SMALL].tolist(), self._values[place : place + _SMALL].tolist(), strict=True):
            place += 1
            if stretch.add(step, value):
                back = stretch.back()
                self._done.append(stretch.spike(back))
                self._baseline.accept(stretch.rows_from(back))
            elif stretch.spent:
                self._done.append(stretch.spike())
                self._baseline.restart(stretch.rows_from(0))
            else:
                continue
            self._stretch = None
            break
        return place
