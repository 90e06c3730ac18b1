"""Two hundred healthy runs of twenty-five families: nothing at warning or worse, by name of the family."""

from __future__ import annotations

from pathlib import Path

import pytest

from sismo.bench.faults import HEALTHY, try_one
from sismo.lab.drawn.catalogue import families

pytestmark = pytest.mark.slow

_SEEDS = HEALTHY // len(families())


@pytest.mark.parametrize("family", sorted(families()))
def test_no_false_alarm(family: str, tmp_path: Path) -> None:
    trials = [try_one(families()[family], seed, tmp_path) for seed in range(_SEEDS)]
    alarms = [f"seed {t.seed} ({t.form}, {t.sample.variant}): {t.verdict.error or t.verdict.alarm}" for t in trials if not t.right]
    assert not alarms
