"""Measuring at fixed steps: without a budget, nothing in a record hangs on time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from recorder.loops import build, train

from sismo.errors import UsageError
from sismo.recorder import Recorder
from sismo.records.reader import read_run


def test_the_same_training_gives_the_same_record(tmp_path: Path) -> None:
    runs = []
    for name in ("one", "two"):
        model, optimizer = build()
        with Recorder(model, optimizer, tmp_path / name, budget=None, every=4) as recorder:
            train(model, optimizer, 18, recorder.step)
        runs.append(read_run(tmp_path / name))
    one, two = runs
    looked = next(series for name, series in one.series.items() if name.startswith("act_mean_abs/"))
    assert looked.steps.tolist() == [0, 4, 8, 12, 16]
    assert one.series["loss/train"].steps.size == 18
    assert one.series.keys() == two.series.keys()
    for name, series in one.series.items():
        np.testing.assert_array_equal(series.steps, two.series[name].steps)
        np.testing.assert_array_equal(series.values, two.series[name].values)


def test_a_distance_that_is_none_is_refused(tmp_path: Path) -> None:
    model, optimizer = build()
    with pytest.raises(UsageError, match="every is a number of steps"):
        Recorder(model, optimizer, tmp_path, budget=None, every=0)
