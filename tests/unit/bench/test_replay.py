"""The bench of the replay: every fault of the lab is in it or left out for a reason, and a slice of it is right."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from sismo.bench.replay import FAULTS, Trial, attempt, left_out, trials
from sismo.lab.catalogue import faults
from sismo.probes.outcomes import Class


def test_every_fault_of_the_lab_is_tried_or_left_out_for_a_reason() -> None:
    named = Counter([*FAULTS, *(name for names in left_out().values() for name in names)])
    assert set(named) == set(faults())
    assert set(named.values()) == {1}


def test_every_trial_has_a_class_and_a_task_that_the_fault_shows_on() -> None:
    every = list(trials(8))
    assert len(every) >= 120
    assert all(trial.wanted and trial.task in trial.fault.tasks for trial in every)
    assert set().union(*(trial.wanted for trial in every)) == set(Class)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["labels-masked", "weight-flipped", "lr-jump", "scale-frozen"])
def test_the_perceptron_is_put_into_its_class(name: str, tmp_path: Path) -> None:
    trial = Trial(faults()[name], "mlp", 1)
    assert attempt(trial, tmp_path) in trial.wanted


@pytest.mark.slow
def test_a_bad_start_is_put_down_to_the_structure(tmp_path: Path) -> None:
    assert attempt(Trial(faults()["bad-init"], "mini-gpt", 0), tmp_path) is Class.STRUCTURE
