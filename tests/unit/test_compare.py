"""Where two runs part: the first number that is not the same, and the first step that is apart for good."""

from __future__ import annotations

import dataclasses
import time

import numpy as np
import pytest
from browser import made
from support.runs import run, series

from sismo.compare import Parting, compare


def parting(left: object, right: object) -> Parting:
    return compare(run(left), run(right)).series[0]  # type: ignore[arg-type]


def curve(seed: int, rows: int = 2_000) -> np.ndarray:
    return 2 + 4 * (1 + np.arange(rows) / 50) ** -0.8 + 0.05 * np.random.default_rng(seed).standard_normal(rows)


def test_the_same_run_twice_is_the_same() -> None:
    found = compare(made.healthy(), made.healthy())
    assert found.first is None
    assert found.settings == ()
    assert all(one.differs is None and one.parts is None for one in found.series)


def test_a_change_at_a_step_is_found_at_that_step() -> None:
    after = curve(0)
    after[700:] += 0.8
    assert (parting(curve(0), after).differs, parting(curve(0), after).parts) == (700, 700)


@pytest.mark.parametrize("seed", range(1, 12))
def test_another_seed_differs_and_does_not_part(seed: int) -> None:
    found = parting(curve(0), curve(seed))
    assert found.differs == 0
    assert found.parts is None


def correlated(rows: int, share: float, seed: int) -> np.ndarray:
    """Noise of which each row keeps a share of the one before: a gradient norm keeps 0.9 and more."""
    fresh = np.random.default_rng(seed).standard_normal(rows + 500) * np.sqrt(1 - share**2)
    noise = np.empty(rows + 500)
    now = 0.0
    for row, push in enumerate(fresh):
        now = share * now + push
        noise[row] = now
    return noise[500:]


@pytest.mark.parametrize("share", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("rows", [60, 300, 2_000])
@pytest.mark.parametrize("width", [0.05, 0.3])
def test_noise_that_remembers_is_no_parting(share: float, rows: int, width: float) -> None:
    """Forty pairs of healthy runs, falling and level; one in a hundred may be unlucky."""
    fall = 2 + 4 * (1 + np.arange(rows) / 50) ** -0.8
    cried = [
        parting(trend * np.exp(width * correlated(rows, share, seed)), trend * np.exp(width * correlated(rows, share, seed + 1_000))).parts
        for seed in range(20)
        for trend in (fall, np.ones(rows))
    ]
    assert sum(step is not None for step in cried) <= 1


@pytest.mark.parametrize("rows", [300, 1_000, 5_000])
def test_a_seed_that_falls_a_little_later_does_not_part(rows: int) -> None:
    steps = np.arange(rows)
    noise = np.random.default_rng(rows).standard_normal((2, rows))
    early, late = (2 + 4 / (1 + np.exp((steps - when) / 15)) + 0.05 * noise[place] for place, when in enumerate((80, 95)))
    assert parting(early, late).parts is None


@pytest.mark.parametrize("share", [0.0, 0.9])
def test_a_jump_is_found_in_noise_that_remembers(share: float) -> None:
    trend = 2 + 4 * (1 + np.arange(2_000) / 50) ** -0.8
    before, after = (trend * (1 + 0.05 * correlated(2_000, share, seed)) for seed in (1, 2))
    after[1_200:] *= 1.6
    assert abs((parting(before, after).parts or 0) - 1_200) <= 20


def test_the_start_without_a_warmup_parts_at_once() -> None:
    found = {one.channel: one.parts for one in compare(made.healthy(seed=7), made.no_warmup()).series}
    assert found["lr/0"] == 0
    assert (found["grad_norm/pre"] or 0) <= 6
    assert found["dead_units/blocks.0"] is None


def test_a_few_rows_part_where_they_plainly_do() -> None:
    calm = np.array([0.9, 1.0, 1.1, 1.0, 0.9, 1.0])
    assert parting(calm, 100 * calm).parts == 0
    assert parting(calm, calm * [1, 1, 1, 100, 100, 100]).parts == 3
    assert parting(calm, calm * [1, 1, 1, 1, 100, 100]).parts is None
    assert parting(calm, calm[::-1] * 1.3).parts is None


def test_a_million_rows_are_compared_at_once() -> None:
    rng = np.random.default_rng(0)
    before, after = 2 + 0.1 * rng.standard_normal((2, 1_000_000))
    after[700_000:] += 0.5
    start = time.perf_counter()
    assert abs((parting(before, after).parts or 0) - 700_000) <= 50
    assert time.perf_counter() - start < 5


def test_noise_does_not_hide_a_parting() -> None:
    after = curve(3)
    after[900:] += np.minimum((np.arange(1_100)) / 200, 1.0)
    assert 900 <= (parting(curve(0), after).parts or 0) <= 960


def test_a_loss_that_is_lost_parts_there() -> None:
    after = curve(0)
    after[500:] = np.nan
    assert parting(curve(0), after).parts == 500
    assert parting(after, after).differs is None


def test_runs_are_aligned_by_step() -> None:
    sparse = series("loss/train", (np.arange(0, 2_000, 10), curve(0)[::10]))
    assert parting(curve(0), sparse) == Parting("loss/train", 200, None, None, (float(curve(0)[1990]), float(curve(0)[1990])))
    assert parting({0: 1.0, 1: 2.0}, {5: 1.0}).rows == 0


def test_what_was_configured_differently_is_told() -> None:
    a, b = made.healthy(), made.no_warmup()
    settings = {one.name: (one.a, one.b) for one in compare(a, b).settings}
    assert settings == {"warmup_steps": ("40", "0"), "fault": ("healthy", "warmup")}
    deep = dataclasses.replace(a, header=a.header._replace(config={"optim": {"lr": 1e-3}}))
    assert ("optim.lr", "0.001") in {(one.name, one.a) for one in compare(deep, b).settings}


def test_what_a_recorder_measured_of_itself_is_no_setting() -> None:
    left, right = ({"sismo": {"cadence": {"budget": 0.01, "share": share}}} for share in (0.2, 0.3))
    assert compare(run([1.0] * 5, config=left), run([1.0] * 5, config=right)).settings == ()
    right["sismo"]["cadence"]["budget"] = 0.05
    found = compare(run([1.0] * 5, config=left), run([1.0] * 5, config=right)).settings
    assert [one.name for one in found] == ["sismo.cadence.budget"]


def test_channels_of_one_run_only() -> None:
    found = compare(run([1.0, 2.0], lr=[1.0, 1.0]), run([1.0, 2.0], norm=[1.0, 1.0]))
    assert (found.only_a, found.only_b) == (("lr/0",), ("grad_norm/pre",))
    assert found.first is None
