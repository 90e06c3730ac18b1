"""However the rows come, the answer is the same, and no row that is not finite changes it."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from unit.signals.curves import Floats

from sismo.records.types import Event, Header, Run, Series
from sismo.signals.nonfinite import NonfiniteTracker, spans
from sismo.signals.spikes import Spike, SpikeRule, SpikeTracker
from sismo.signals.view import View

_ODD = [float("nan"), float("inf"), float("-inf"), 0.0, 1e300, -1e300, 5e-324, 1e14, 1e-21, 100.0]


@st.composite
def curves(draw: st.DrawFn) -> Floats:
    """Noise of some kind, with steps, spikes, constants and odd values put in."""
    random = np.random.default_rng(draw(st.integers(0, 10_000)))
    rows = draw(st.integers(0, 700))
    kind = draw(st.sampled_from(["normal", "heavy", "walk", "constant", "rounded", "decay"]))
    base = {
        "normal": lambda: 2.0 + 0.05 * random.standard_normal(rows),
        "heavy": lambda: 2.0 + 0.05 * random.standard_t(2, rows),
        "walk": lambda: np.cumsum(random.standard_normal(rows)),
        "constant": lambda: np.full(rows, 0.7),
        "rounded": lambda: np.round(2.0 + 0.1 * random.standard_normal(rows), 1),
        "decay": lambda: 2.0 + 8.0 * np.exp(-np.arange(rows) / 30.0) + 0.02 * random.standard_normal(rows),
    }[kind]()
    values = base * draw(st.sampled_from([1.0, 1e-18, 1e12, -1.0]))
    for _ in range(draw(st.integers(0, 5)) if rows else 0):
        at = draw(st.integers(0, rows - 1))
        length = draw(st.sampled_from([1, 1, 2, 10, 60, 150]))
        if draw(st.booleans()):
            values[at : at + length] = draw(st.sampled_from(_ODD))
        else:
            values[at : at + length] += draw(st.floats(0.1, 50.0)) * float(np.std(base) + 0.1)
    return values


@st.composite
def cuts(draw: st.DrawFn) -> list[int]:
    """Places to cut at."""
    return sorted(draw(st.lists(st.integers(0, 700), max_size=8)))


RULES = st.sampled_from([SpikeRule(), SpikeRule(confirm=False), SpikeRule(window=37, recover_rows=10, rebaseline_rows=25)])


def _track(values: Floats, rule: SpikeRule, places: list[int], *, ask: bool) -> tuple[tuple[Spike, ...], object]:
    tracker = SpikeTracker(rule)
    steps = np.arange(values.size)
    for start, stop in zip([0, *places], [*places, values.size], strict=True):
        tracker.extend(steps[start:stop], values[start:stop])
        if ask:
            assert tracker.spikes is not None
    return tracker.spikes, tracker.baseline


@given(curves(), cuts(), RULES, st.booleans())
@settings(max_examples=150, deadline=None)
def test_spikes_do_not_depend_on_the_cuts(values: Floats, places: list[int], rule: SpikeRule, ask: bool) -> None:
    whole = _track(values, rule, [], ask=False)
    assert repr(_track(values, rule, [min(place, values.size) for place in places], ask=ask)) == repr(whole)


@given(curves(), RULES)
@settings(max_examples=25, deadline=None)
def test_spikes_row_by_row_are_those_of_the_whole(values: Floats, rule: SpikeRule) -> None:
    tracker = SpikeTracker(rule)
    for step, value in enumerate(values.tolist()):
        tracker.update(step, value)
        if step % 3 == 0:
            assert tracker.spikes is not None
    assert repr((tracker.spikes, tracker.baseline)) == repr(_track(values, rule, [], ask=False))


@given(curves(), st.data())
@settings(max_examples=60, deadline=None)
def test_rows_that_are_not_finite_change_nothing_else(values: Floats, data: st.DataObject) -> None:
    values = values[np.isfinite(values)]
    steps = 2 * np.arange(values.size)
    clean = SpikeTracker(SpikeRule())
    clean.extend(steps, values)
    where = data.draw(st.lists(st.integers(0, values.size), max_size=5))
    dirty = SpikeTracker(SpikeRule())
    dirty.extend(np.insert(steps, where, 0), np.insert(values, where, data.draw(st.sampled_from(_ODD[:3]))))
    assert repr(dirty.spikes) == repr(clean.spikes)


@given(curves(), cuts())
@settings(deadline=None)
def test_spans_do_not_depend_on_the_cuts(values: Floats, places: list[int]) -> None:
    steps = np.arange(values.size)
    tracker = NonfiniteTracker()
    places = [min(place, values.size) for place in places]
    for start, stop in zip([0, *places], [*places, values.size], strict=True):
        tracker.extend(steps[start:stop], values[start:stop])
    assert tracker.spans == spans(steps, values)
    assert sum(span.rows for span in tracker.spans) == np.count_nonzero(~np.isfinite(values))
    assert tracker.forever == (values.size > 0 and not np.isfinite(values[-1]))


@given(curves(), st.sampled_from([1, 3, 10, 500]), st.integers(1, 97), st.sampled_from([0.0, 5.0]))
@settings(max_examples=50, deadline=None)
def test_a_live_view_says_what_a_view_of_the_whole_says(values: Floats, every: int, look: int, confirm: float) -> None:
    limits, header = {"spike-confirm-z": confirm}, Header("test")
    steps = every * np.arange(values.size)
    rates = [1e-3 * 0.999**row for row in range(values.size)]  # not as an array: powers of arrays end in other bits on some machines
    live = View(limits, header)
    events: list[Event] = []
    for row, (step, value) in enumerate(zip(steps.tolist(), values.tolist(), strict=True)):
        live.update(step, {"loss/train": value, "lr/0": rates[row], "loss_scale": 65536.0 / 2 ** (row // 50)})
        if row % 50 == 49:
            events.append(Event(step, "overflow", {"scale_before": 2.0, "scale_after": 1.0}))
            live.event(events[-1])
        if row % look == 0:
            live.spikes("loss/train"), live.trend("loss/train"), live.nonfinite("loss/train"), live.scale(), live.schedule()
    shape = np.arange(values.size)
    made = {"loss/train": values, "lr/0": np.array(rates), "loss_scale": 65536.0 / 2.0 ** (shape // 50)}
    run = Run("test", header, {name: Series(name, steps, column) for name, column in made.items()} if values.size else {}, tuple(events))
    whole = View.of(run, limits)
    for channel in ("loss/train", "lr/0"):
        assert repr(live.spikes(channel)) == repr(whole.spikes(channel))
        assert repr(live.nonfinite(channel)) == repr(whole.nonfinite(channel))
        assert repr(live.trend(channel)) == repr(whole.trend(channel))
    assert repr(live.scale()) == repr(whole.scale())
    assert live.last_step == whole.last_step
    assert live.rows("loss/train") == whole.rows("loss/train")
