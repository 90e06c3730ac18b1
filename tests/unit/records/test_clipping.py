"""The bound that gradients are clipped at, as the norms before and after clipping show it."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from support.runs import run as made

from sismo.records.clipping import clip_of, seen_clip
from sismo.records.types import Run

RNG = np.random.default_rng(0)
PRE = np.exp(0.6 * RNG.standard_normal(300))


def logged(pre: NDArray[np.float64], post: NDArray[np.float64], clip: float | None = None) -> Run:
    return made(loss=np.full(len(pre), 2.0), norm=pre, more={"grad_norm/post": post}, clip=clip)


@pytest.mark.parametrize("bound", [0.1, 0.5, 1.0, 5.0, 1.3])
def test_a_norm_that_stands_at_one_value_after_clipping_shows_the_bound(bound: float) -> None:
    pre = bound * PRE
    assert seen_clip(logged(pre, np.minimum(pre, bound))) == pytest.approx(bound, rel=1e-3)


@pytest.mark.parametrize("digits", [2, 3])
def test_a_log_of_few_digits_shows_it_too(digits: int) -> None:
    post = np.minimum(PRE, 1.0)
    assert seen_clip(logged(PRE.round(digits), post.round(digits))) == pytest.approx(1.0)


def test_what_is_seen_goes_before_what_is_configured() -> None:
    assert clip_of(logged(PRE, np.minimum(PRE, 0.5), clip=1.0)) == 0.5


def test_what_is_configured_counts_where_nothing_was_clipped() -> None:
    assert clip_of(logged(PRE, PRE, clip=20.0)) == 20.0
    assert clip_of(logged(PRE, PRE)) is None
    assert clip_of(made(loss=PRE, norm=PRE, clip=2.0)) == 2.0


def test_one_clipped_step_counts_at_a_number_as_people_write_it() -> None:
    pre = np.full(100, 0.4)
    pre[60] = 40.0
    assert seen_clip(logged(pre, np.minimum(pre, 1.0))) == 1.0
    assert seen_clip(logged(pre, np.minimum(pre, 1.37))) is None


def test_a_norm_that_differs_from_step_to_step_shows_no_bound() -> None:
    """Clipping by value, and a bound that follows the norm itself."""
    assert seen_clip(logged(PRE, PRE * RNG.uniform(0.3, 0.9, 300))) is None
    assert seen_clip(logged(PRE, 0.5 * PRE)) is None


def test_a_bound_is_not_that_of_the_run_where_it_explains_few_rows() -> None:
    post = np.where(np.arange(300) < 150, np.minimum(PRE, 0.5), np.minimum(PRE, 0.2))
    assert seen_clip(logged(PRE, post)) is None


def test_lost_norms_do_not_hide_it() -> None:
    pre, post = PRE.copy(), np.minimum(PRE, 0.5)
    pre[200:] = post[200:] = np.nan
    assert seen_clip(logged(pre, post)) == 0.5
