"""How much is measured when: holds recording under a share of the step time.

A job is done when there is credit for it. Credit grows with every step by ``budget`` times the step, and what sismo spent in that step is
taken off. Where steps are so short that what every one of them costs takes the budget by itself, jobs get a small part of it all the same,
and the first ones are bought on credit: some milliseconds in all, thinner and thinner. Jobs take turns, so that layers and matrices are
spread over steps. The first step does all that tell of the start, and the next ones what is left, so that no step is much longer. What a
job costs is learnt by doing it. Times, of jobs and of steps, are the shorter of the last two, as a process that was interrupted in between
says nothing about the work.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Collection, Mapping, Sequence

from sismo.recorder.draft import Job

AIM = 0.7
"""Part of the budget that is planned with: the rest pays for what cannot be timed from here, such as cold caches."""
STEP_CAP = 0.04
"""Largest share of one step that the planned jobs may take."""
FIRST_SHARE = 0.6
"""Part of the budget that the jobs which come first may take at every step."""
LEAST = 0.1
"""Part of the budget that is left to jobs, whatever the rest costs."""
LOAN, _SPREAD = 5e-3, 10
"""Seconds of jobs that are bought on credit, where nothing is earned, about each time that the number of steps, and this many, grows by a
factor e: 20 ms in 500 steps, 35 ms in 10,000.
"""
_UNKNOWN = 1e-3
"""Seconds that a job is taken to need before it was ever done."""


class Cadence:
    """Plans the jobs of each step.

    Arguments:
        budget: share of the step time, or None for everything at fixed steps.
        jobs: all there are.
        every: how many steps those are apart.
        in_step: several ranks must come to the same plan, so that times have no say in it: one job a step.
        later: panels whose first measurement need not be in the first step, which does all the others: some jobs in each step after it.
    """

    def __init__(
        self, budget: float | None, jobs: Sequence[Job], *, every: int = 1, in_step: bool = False, later: Collection[str] = ()
    ) -> None:
        self.budget = budget
        self._every = every
        self._in_step = in_step
        self._cost: dict[Job, float] = {}
        self._last: dict[Job, float] = {}
        self._step_time = 0.0
        self._last_step = 0.0
        self._credit = self._debt = 0.0
        self._steps = 0
        self._spent = 0.0
        self._trained = 0.0
        self._worst = 0.0
        self._done: dict[str, int] = {}
        self._first: Collection[str] = ()
        self._chosen: Collection[Job] = jobs
        self._owed = deque(job for job in jobs if job.panel in later and budget is not None and not in_step)
        self._on_loan = True
        self.follow(jobs)

    def follow(self, jobs: Sequence[Job]) -> None:
        """These are the jobs from now on; what is known of their costs is kept."""
        self._queue = deque(jobs)
        self._owed = deque(job for job in self._owed if job in jobs)
        self._size = {job.panel: sum(job.panel == other.panel for other in jobs) for job in jobs}
        self._cost = {job: self._cost[job] for job in jobs if job in self._cost}
        self._last = {job: self._last[job] for job in jobs if job in self._last}

    def account(self, seconds: float, own: float, jobs: Mapping[Job, float], *, free: bool = False) -> None:
        """A step took ``seconds``, of which sismo took ``own``, of which each job took so much. ``free`` steps cost no credit."""
        trained = max(seconds - own, 0.0)
        self._steps += 1
        self._spent += own
        self._trained += trained
        for job, cost in jobs.items():
            self._done[job.panel] = self._done.get(job.panel, 0) + (job in self._chosen)
            self._cost[job] = min(cost, self._last.get(job, cost))
            self._last[job] = cost
        # The first step of a process is no measure of the others.
        if self._steps > 1:
            self._step_time = min(trained, self._last_step or trained)
            self._last_step = trained
            if self._step_time and not free:
                self._worst = max(self._worst, own / self._step_time)
        if self.budget is not None:
            # Where a panel has something to do at every step, that is no measurement that was bought.
            spent = sum(cost for job, cost in jobs.items() if job in self._chosen and job.panel not in self._first)
            earned = AIM * self.budget * trained - (own - spent)
            if self._on_loan:
                # Everything is measured, and slowly, as for the first time: paid off out of what is left over, and not by the next jobs.
                self._debt, spent = self._debt + spent - min(earned, 0.0), 0.0
            paid = min(self._debt, max(earned, 0.0))
            self._debt -= paid
            least = LEAST * self.budget * trained
            if earned < least:
                least += LOAN / (self._steps + _SPREAD)
            self._credit += max(earned - paid, least) - (0.0 if free else spent)
            cap = STEP_CAP * self._step_time
            if self._credit > cap:
                self._credit = min(self._credit, max(cap, self._dearest()))
        self._on_loan = False

    def plan(self, first: Collection[str] = ()) -> list[Job]:
        """The jobs of the next step; those of the panels in ``first`` come before all others, which take turns."""
        self._first = first
        self._chosen = chosen = self._turn(first)
        return chosen

    def everything(self) -> list[Job]:
        """All jobs."""
        self._owed.clear()
        self._chosen = chosen = list(self._queue)
        return chosen

    def _turn(self, first: Collection[str]) -> list[Job]:
        firsts = [job for job in self._queue if job.panel in first]
        if self.budget is None:
            return firsts if self._steps % self._every else self.everything()
        if not self._steps:
            return [job for job in self._queue if job not in self._owed]
        if not self._step_time and not self._in_step:
            return firsts
        if self._in_step:
            self._queue.rotate(-1)
            return [*firsts, *[job for job in self._queue if job.panel not in first][:1]]
        # What comes first does not wait for credit: it is thinned out only where it costs more than its part of the budget by itself.
        afford = FIRST_SHARE * self.budget * self._step_time
        chosen = [job for job in firsts if self._steps % max(1, math.ceil(self._cost.get(job, 0.0) / max(afford, 1e-9))) == 0]
        if self._owed:
            return [*chosen, *self._started()]
        left = min(self._credit, STEP_CAP * self._step_time)
        first_in_queue = True
        for _ in range(len(self._queue)):
            job = self._queue[0]
            if job.panel in first:
                self._queue.rotate(-1)
                continue
            cost = self._cost.get(job, _UNKNOWN)
            if cost > left and not (first_in_queue and cost <= self._credit):
                break
            first_in_queue = False
            chosen.append(job)
            left -= cost
            self._queue.rotate(-1)
        return chosen

    def _started(self) -> list[Job]:
        """Jobs that have their first turn: one, and as many more as go into a step."""
        self._on_loan = True
        started: list[Job] = []
        left = STEP_CAP * self._step_time
        while self._owed and (not started or self._guess(self._owed[0]) <= left):
            started.append(self._owed.popleft())
            left -= self._guess(started[-1])
        return started

    def _guess(self, job: Job) -> float:
        """What a job that was never done will cost: as much as the dearest of its kind so far."""
        return max((cost for other, cost in self._cost.items() if other.panel == job.panel), default=_UNKNOWN)

    def summary(self) -> dict[str, object]:
        """What the cadence came to: the share of the step time, the largest in one step (but for the first, and windows of full detail),
        and the mean number of steps between two measurements of a part.
        """
        every = {
            panel: round(self._steps * self._size[panel] / count, 2) for panel, count in sorted(self._done.items()) if panel in self._size
        }
        share = self._spent / self._trained if self._trained else None
        shares = {"share": share and round(share, 5), "worst_step": round(self._worst, 5)}
        return {"budget": self.budget, **shares, "steps": self._steps, "steps_between": every}

    def _dearest(self) -> float:
        return max((self._cost.get(job, _UNKNOWN) for job in self._queue), default=0.0)
