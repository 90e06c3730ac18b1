"""The bound on the gradient norm that a run was under, whether or not it was configured where sismo could read it."""

from __future__ import annotations

import numpy as np

from sismo.records.channels import GRAD_NORM_POST, GRAD_NORM_PRE
from sismo.records.types import Run, Values

_CUT = 1.02
"""Norm before over the norm after from which a row was clipped: less is the rounding of a log of three digits."""
_MOST = 0.9
"""Share of the rows that one bound has to explain. The others are steps of another bound: one at the start, one after a resume."""
_ROWS = 3
"""Rows at one value from which it is no chance. Clipping by value leaves a norm that differs from step to step."""
_EXACT = 1e-4
"""Relative distance within which fewer rows count where they stand at a number of one digit, as people write a bound (1, 0.5, 10)."""


def clip_of(run: Run) -> float | None:
    """The bound in force, in units of the gradient norm: as the norms show it, else as it was configured; None where neither says."""
    seen = seen_clip(run)
    return seen if seen is not None else run.header.clip


def seen_clip(run: Run) -> float | None:
    """The bound that the gradient norm after clipping is pinned at, where that before it is over it; None where it is pinned at none."""
    before, after = run.get(GRAD_NORM_PRE), run.get(GRAD_NORM_POST)
    if before is None or after is None:
        return None
    _, at, there = np.intersect1d(before.steps, after.steps, return_indices=True)
    pre, post = before.values[at], after.values[there]
    known = np.isfinite(pre) & np.isfinite(post) & (post > 0)
    return _pinned(pre[known], post[known])


def _pinned(pre: Values, post: Values) -> float | None:
    cut = post[pre > _CUT * post]
    if not cut.size:
        return None
    bound = float(np.median(cut))
    explained = np.abs(post - np.minimum(pre, bound)) <= (_CUT - 1) * post
    if explained.mean() < _MOST or (cut.size < _ROWS and not _written(bound)):
        return None
    return float(f"{bound:.3g}")


def _written(bound: float) -> bool:
    return abs(bound - float(f"{bound:.0e}")) <= _EXACT * bound
