"""What is measured when: jobs keep their part where the budget is spent already, and never cost much in all."""

from __future__ import annotations

import pytest

from sismo.recorder.cadence import Cadence
from sismo.recorder.draft import Job

JOBS = [Job("weights", "0"), Job("activations", "a"), Job("activations", "b"), Job("units", "u")]


def recorded(step: float, fixed: float, job: float, steps: int, *, first: float | None = None) -> tuple[list[int], float]:
    """The steps at which anything was measured after the first, and the seconds that all jobs took after it."""
    cadence = Cadence(0.01, JOBS)
    cadence.account(step, fixed + len(JOBS) * (first or job), dict.fromkeys(JOBS, first or job))
    looks: list[int] = []
    for number in range(1, steps):
        chosen = cadence.plan()
        looks += [number] * len(chosen)
        cadence.account(step + fixed + job * len(chosen), fixed + job * len(chosen), dict.fromkeys(chosen, job))
    return looks, job * len(looks)


@pytest.mark.parametrize("first", [None, 5e-3])
def test_short_steps_whose_fixed_cost_is_over_the_budget_are_looked_at_all_the_same(first: float | None) -> None:
    """Five milliseconds a step, half of one for what each costs, and a first look that was ten times as slow as the others."""
    looks, cost = recorded(5e-3, 5e-4, 5e-4, 500, first=first)
    assert len(looks) >= 8 * len(JOBS)
    assert min(looks) < 30
    assert max(looks) > 400
    assert cost < 0.05


def test_the_first_looks_are_bought_on_credit_and_thin_out() -> None:
    looks, cost = recorded(5e-3, 5e-4, 5e-4, 20_000)
    early, late = sum(look < 500 for look in looks), sum(look >= 19_500 for look in looks)
    assert early > 3 * late > 0
    assert cost < 0.002 * 20_000 * 5e-3


@pytest.mark.parametrize("step", [0.1, 1.0])
def test_long_steps_stay_within_the_budget(step: float) -> None:
    _, cost = recorded(step, 5e-4, 5e-4, 1_000)
    assert cost + 5e-4 * 1_000 < 0.01 * step * 1_000


def test_what_comes_first_is_no_debt_of_the_others() -> None:
    cadence = Cadence(0.01, [Job("gradients", "0"), *JOBS])
    looks = 0
    for _ in range(500):
        chosen = cadence.plan(["gradients"])
        looks += sum(job.panel != "gradients" for job in chosen)
        cadence.account(5e-3, 4e-4 * len(chosen), dict.fromkeys(chosen, 4e-4))
    assert looks >= 8 * len(JOBS)


def test_what_a_panel_does_at_every_step_is_no_debt_of_the_jobs() -> None:
    """A norm that clipping gives is put down at every step, and takes a tenth of what a measurement of it does."""
    gradients = Job("gradients", "all")
    cadence = Cadence(0.01, [gradients, *JOBS])
    looks: list[int] = []
    for number in range(1000):
        chosen = cadence.plan()
        looks += [number] * len(chosen)
        jobs = {gradients: 5e-5, **dict.fromkeys(chosen, 5e-4)}
        cadence.account(5e-3 + 4e-4 + sum(jobs.values()), 4e-4 + sum(jobs.values()), jobs)
    assert len(looks) >= 8 * len(JOBS)
    assert max(looks) > 800
    every = cadence.summary()["steps_between"]
    assert isinstance(every, dict)
    assert every["gradients"] > 50, "what is done at every step was counted as a measurement"


def test_what_need_not_be_in_the_first_step_has_its_first_turn_in_the_next_ones_a_little_in_each() -> None:
    later = [Job("weights", str(number)) for number in range(20)]
    cadence = Cadence(0.01, [*JOBS[1:], *later], later=["weights"])
    step, cost = 0.1, 1e-3
    seen: list[Job] = []
    for number in range(20):
        chosen = cadence.plan()
        if number == 0:
            assert chosen == JOBS[1:]
        elif len(seen) < 23:
            assert len(chosen) * cost <= 0.04 * step
        seen += chosen
        cadence.account(step + cost * len(chosen), cost * len(chosen), dict.fromkeys(chosen, cost))
    # Nothing is measured twice before all was measured once, and that does not take long.
    assert seen[:23] == [*JOBS[1:], *later]


def test_the_first_turns_are_paid_off_and_the_share_comes_down_to_the_budget() -> None:
    later = [Job("weights", str(number)) for number in range(20)]
    cadence = Cadence(0.01, [*JOBS[1:], *later], later=["weights"])
    own = 0.0
    for _ in range(1000):
        chosen = cadence.plan()
        spent = 1e-4 + 1e-3 * len(chosen)
        own += spent
        cadence.account(0.1 + spent, spent, dict.fromkeys(chosen, 1e-3))
    assert own < 0.01 * 0.1 * 1000


@pytest.mark.parametrize(("budget", "in_step"), [(None, False), (0.01, True)])
def test_without_a_budget_or_with_shared_weights_the_first_step_measures_all(budget: float | None, in_step: bool) -> None:
    assert Cadence(budget, JOBS, in_step=in_step, later=["weights", "units"]).plan() == JOBS


def test_first_turns_that_a_window_of_full_detail_brought_are_not_had_again() -> None:
    jobs = [Job("weights", str(number)) for number in range(20)]
    cadence = Cadence(0.01, jobs, later=["weights"])
    assert cadence.plan() == []
    cadence.account(0.1, 0.0, {})
    assert cadence.everything() == jobs
    cadence.account(0.1, 0.02, dict.fromkeys(jobs, 1e-3), free=True)
    assert len(cadence.plan()) <= 1
