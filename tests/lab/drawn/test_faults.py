"""Every synthetic fault at five seeds, through a file in a real format: is the right cause named first?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from sismo.bench.faults import MAX_MISSED_PER_SEED, SEEDS, Trial, try_faults
from sismo.lab.drawn.catalogue import faults

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def trials(tmp_path_factory: pytest.TempPathFactory) -> list[Trial]:
    folder: Path = tmp_path_factory.mktemp("faults")
    return try_faults(SEEDS, folder)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_right_cause_comes_first_in_at_least_ten_of_eleven(trials: Sequence[Trial], seed: int) -> None:
    missed = [f"{t.recipe}: {t.verdict.first}" for t in trials if t.seed == seed and not t.right]
    assert len(missed) <= MAX_MISSED_PER_SEED, missed


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("fault", sorted(faults()))
def test_no_fault_passes_for_healthy(trials: Sequence[Trial], fault: str, seed: int) -> None:
    trial = next(t for t in trials if t.recipe == fault and t.seed == seed)
    named = {cause.id for cause in trial.verdict.causes[:3]}
    assert not trial.verdict.error
    assert named & set(trial.sample.expects), f"{trial.sample.variant}, {trial.form}: {trial.verdict.causes}"
