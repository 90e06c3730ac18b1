"""Spans of NaN and infinities."""

from __future__ import annotations

import numpy as np

from sismo.signals.nonfinite import NonfiniteTracker, Span, spans


def test_spans_have_their_kind() -> None:
    nan, inf = np.nan, np.inf
    values = np.array([1.0, nan, nan, 2.0, inf, 3.0, nan, -inf])
    assert spans(10 * np.arange(8), values) == (Span(10, 20, 2, "nan"), Span(40, 40, 1, "inf"), Span(60, 70, 2, "mixed"))


def test_a_span_goes_on_over_a_cut() -> None:
    tracker = NonfiniteTracker()
    for step, value in enumerate([1.0, np.nan, np.inf, np.nan]):
        tracker.update(step, value)
    assert tracker.spans == (Span(1, 3, 3, "mixed"),)
    assert tracker.forever
    assert tracker.share == 0.75
    tracker.update(4, 1.0)
    assert not tracker.forever


def test_no_rows_no_spans() -> None:
    assert spans(np.arange(0), np.array([])) == ()
    assert NonfiniteTracker().share == 0.0
