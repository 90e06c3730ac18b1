"""A range test of the learning rate: what is one, and what only looks like it."""

from __future__ import annotations

import numpy as np
import pytest
from support.runs import alarms, cosine, level, names, run, state
from support.trios import Trio, check, check_all, each

from sismo.judge import judge
from sismo.records.types import RECORDED, Header, Run
from sismo.signals.detectors import sweep
from sismo.signals.types import State

STEP = np.arange(150)
SWEPT = 1e-5 * 10 ** (STEP * 6 / 149)
FALLS = 2.3 - 1.6 / (1 + np.exp(-(STEP - 85) / 8)) + level(150, 0.0, 0.03)
DIVERGES = FALLS + np.where(STEP > 115, np.exp(np.minimum((STEP - 115.0) / 3, 12.0)), 0.0)
NORM = np.where(STEP > 110, 0.8 * np.exp(np.minimum((STEP - 110.0) / 4, 12.0)), level(150, 0.8, 0.05))
LOST = np.where(STEP < 140, DIVERGES, np.nan)

TRIOS = {
    "lr-is-swept": Trio(run(loss=DIVERGES, lr=SWEPT), run(loss=DIVERGES, lr=np.linspace(1e-5, 10, 150)), run(loss=DIVERGES)),
}


def test_every_signal_of_the_file_is_tried() -> None:
    check_all(sweep, TRIOS)


@each(TRIOS)
def test_fires_stays_silent_and_does_not_know(signal: str, trio: Trio) -> None:
    check(signal, trio)


@pytest.mark.parametrize("loss", [FALLS, DIVERGES, LOST], ids=["stops in time", "diverges", "is lost"])
@pytest.mark.parametrize("every", [1, 5, 25])
def test_the_end_of_a_range_test_is_no_failure(loss: np.ndarray, every: int) -> None:
    made = run(loss=loss[::every], lr=SWEPT[::every], norm=NORM[::every], every=every)
    assert alarms(made) == []
    assert "lr-range-test" in names(made)


@pytest.mark.parametrize(("first", "last"), [(1e-7, 10.0), (1e-8, 1.0), (1e-6, 0.1), (1e-4, 1.0)])
def test_the_range_of_a_finder_is_its_own(first: float, last: float) -> None:
    assert state(run(loss=FALLS, lr=np.geomspace(first, last, 150)), "lr-is-swept") is State.PRESENT


@pytest.mark.parametrize("form", ["{:.1e}", "{:.2e}", "{:.6f}", "{:.4g}"])
def test_a_range_test_is_seen_through_the_digits_that_it_is_printed_with(form: str) -> None:
    printed = np.array([float(form.format(rate)) for rate in SWEPT])
    assert state(run(loss=DIVERGES, lr=printed), "lr-is-swept") is State.PRESENT


@pytest.mark.parametrize(
    "lr",
    [
        np.geomspace(1e-3, 0.1, 150),  # two decades
        np.geomspace(1e-7, 1e-3, 150),  # a warmup to a usual rate
        np.linspace(1e-7, 0.1, 150),
        np.concatenate([np.geomspace(1e-6, 0.1, 50), np.full(100, 0.1)]),
        cosine(150, peak=0.1, warmup=75),
        SWEPT[::-1],
    ],
)
def test_a_warmup_or_a_schedule_is_no_range_test(lr: np.ndarray) -> None:
    assert state(run(loss=DIVERGES, lr=lr), "lr-is-swept") is State.ABSENT


def test_what_breaks_while_the_rate_is_small_is_none_of_a_range_test() -> None:
    early = np.where(STEP < 40, FALLS, np.nan)
    assert judge(run(loss=early, lr=SWEPT)).healthy is False
    jumps = np.where(STEP < 40, FALLS, FALLS + 9.0)
    assert state(run(loss=jumps, lr=SWEPT), "lr-is-swept") is State.ABSENT
    assert alarms(run(loss=DIVERGES, norm=NORM)) != []  # without the LR nothing tells what it is


def test_updates_as_large_as_weights_are_what_a_recorded_range_test_comes_to() -> None:
    sizes = {f"update_ratio/{name}": np.where(STEP < 100, 1e-3, 30.0) for name in "ab"}
    spectra = {f"spectral/{name}.weight": level(150, 1.0) for name in "ab"}
    for lr, swept in ((SWEPT, True), (np.full(150, 1e-2), False)):
        made = run(loss=DIVERGES, lr=lr, norm=NORM, more={**sizes, **spectra})
        recorded = Run("made", Header(source=RECORDED), made.series)
        assert ("lr-too-high" not in alarms(recorded)) is swept
