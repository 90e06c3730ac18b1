"""What a view gives, and that it forgets what a new row makes wrong."""

from __future__ import annotations

import pytest
from unit.signals.curves import descent, series

from sismo.records.types import Event, Header, Run
from sismo.signals.view import View


def _run() -> Run:
    made = {name: series(descent(0), channel=name) for name in ("loss/train", "loss/val", "lr/0", "lr/1")}
    return Run("here", Header("test"), made, (Event(1200, "overflow"),))


def test_a_channel_that_was_never_logged_is_none_and_not_an_error() -> None:
    view = View.of(_run(), {})
    assert view.series("grad_norm/pre") is None
    assert view.finite("grad_norm/pre") is None
    assert view.trend("grad_norm/pre") is None
    assert view.schedule("lr/7") is None
    assert view.spikes("grad_norm/pre") == ()
    assert view.nonfinite("grad_norm/pre") == ()
    assert view.rows("grad_norm/pre") == 0
    assert view.family("weight_norm") == []
    assert View({}, Header("test")).scale() is None
    assert View({}, Header("test")).last_step == -1


def test_what_there_is() -> None:
    view = View.of(_run(), {"spike-window": 100.0})
    assert [one.channel for one in view.family("lr")] == ["lr/0", "lr/1"]
    assert view.rows("loss/train") == 1000
    assert view.last_step == 1200
    assert view.limit("spike-window") == 100.0
    with pytest.raises(KeyError, match="spike-sigma"):
        view.limit("spike-sigma")
    scale = view.scale()
    assert scale is not None
    assert scale.overflow_steps == (1200,)


def test_results_are_worked_out_once_and_anew_after_a_row() -> None:
    view = View({}, Header("test"))
    for step, value in enumerate(descent(0, 300).tolist()):
        view.update(step, {"loss/train": value})
    assert view.trend("loss/train") is view.trend("loss/train")
    before = view.finite("loss/train")
    view.update(300, {"loss/train": 50.0})
    assert [spike.start for spike in view.spikes("loss/train")] == [300]
    assert before is not None
    assert len(before) == 300
    assert view.rows("loss/train") == 301
    with pytest.raises(ValueError, match="step 300"):
        view.update(300, {"loss/train": 1.0})


def test_a_sparse_log_has_ten_rows_to_recover() -> None:
    values = descent(0, 400)
    values[200:207] += 1.0
    run = Run("here", Header("test"), {"loss/train": series(values, every=500)})
    (spike,) = View.of(run, {}).spikes("loss/train")
    assert (spike.start, spike.recovered) == (100_000, True)


def test_zero_confirms_nothing() -> None:
    run = _run()
    assert len(View.of(run, {"spike-confirm-z": 0.0}).spikes("loss/train")) >= len(View.of(run, {}).spikes("loss/train"))
