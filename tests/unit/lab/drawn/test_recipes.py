"""Faults and healthy families: found by being there, the same at every call, different at every seed, and true to their word."""

from __future__ import annotations

import numpy as np
import pytest

from sismo.lab.drawn.catalogue import families, faults
from sismo.lab.drawn.types import Noise, Recipe, Sample
from sismo.tree.catalogue import causes

_ALL = {**faults(), **families()}


def _same(one: Sample, other: Sample) -> bool:
    if one.run.series.keys() != other.run.series.keys():
        return False
    return all(
        np.array_equal(series.steps, other.run.series[channel].steps)
        and np.array_equal(series.values, other.run.series[channel].values, equal_nan=True)
        for channel, series in one.run.series.items()
    )


def test_there_are_eleven_faults_and_no_id_is_used_twice() -> None:
    assert len(faults()) == 11
    assert len(_ALL) == len(faults()) + len(families())


@pytest.mark.parametrize("recipe", _ALL.values(), ids=_ALL)
@pytest.mark.parametrize("noise", Noise)
def test_the_same_seed_gives_the_same_run_and_another_seed_another(recipe: Recipe, noise: Noise) -> None:
    assert _same(recipe.make(3, noise), recipe.make(3, noise))
    assert not _same(recipe.make(3, noise), recipe.make(4, noise)) or recipe.id == "collapse-to-zero"


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("recipe", families().values(), ids=families())
def test_a_healthy_run_has_a_finite_loss_and_expects_nothing(recipe: Recipe, seed: int) -> None:
    sample = recipe.make(seed, Noise.of(seed))
    assert not sample.expects
    assert sample.step is None
    assert bool(np.isfinite(sample.run.series["loss/train"].values).all())


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("recipe", faults().values(), ids=faults())
def test_a_fault_expects_causes_that_exist_and_begins_within_the_log(recipe: Recipe, seed: int) -> None:
    sample = recipe.make(seed, Noise.of(seed))
    assert sample.expects
    assert set(sample.expects) <= set(causes())
    assert sample.step is not None
    assert 0 <= sample.step <= int(sample.run.series["loss/train"].steps[-1])


@pytest.mark.parametrize("seed", range(8))
def test_a_recovered_spike_has_a_row_of_its_own_whatever_the_interval(seed: int) -> None:
    sample = faults()["recovered-spike"].make(seed, Noise.GAUSSIAN)
    loss, step = sample.run.series["loss/train"], sample.step
    assert step is not None
    row = int(np.argmin(np.abs(loss.steps - step)))
    peak = int(np.argmax(loss.values[max(0, row - 20) : row + 20])) + max(0, row - 20)
    assert abs(peak - row) <= 1
    assert loss.values[peak] - float(np.median(loss.values[row - 10 : row])) > 0.5


def test_columns_and_intervals_vary_by_seed() -> None:
    runs = [faults()["recovered-spike"].make(seed, Noise.of(seed)).run for seed in range(24)]
    assert {"grad_norm/pre" in run.series for run in runs} == {True, False}
    assert {"lr/0" in run.series for run in runs} == {True, False}
    assert {run.header.vocab_size is None for run in runs} == {True, False}
    assert {int(run.series["loss/train"].interval) for run in runs} == {1, 10}
