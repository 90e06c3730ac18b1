"""What is measured when: jobs keep their part where the budget is spent already, and never cost much in all."""

from __future__ import annotations

import pytest

from sismo.recorder.cadence import Cadence
from sismo.recorder.panel import Job

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
