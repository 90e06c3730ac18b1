"""A run that unlearns by fading to a guess, and runs that get to a guess in another way."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from support.runs import alarms, cosine, names, run, state
from support.trios import Trio, check, check_all, each

from sismo.judge import judge
from sismo.records.types import Run
from sismo.signals.detectors import fading
from sismo.signals.rolling import Floats
from sismo.signals.types import State

STEP = np.arange(600)
GUESS = 2.303


def noisy(clean: Floats, size: Floats | float, seed: int = 0) -> Floats:
    return np.maximum(clean + size * np.random.default_rng(seed).standard_normal(clean.size), 0.0)


def learnt(until: int = 300) -> Floats:
    return 0.4 + (GUESS - 0.4) * np.exp(-np.minimum(STEP, until) / 60.0)


def faded(over: float = 15.0, seed: int = 0) -> Run:
    """From step 300 on the scores fade within so many rows: the loss comes back to a guess, the norm and the noise shrink."""
    share = np.exp(-np.maximum(0, STEP - 300) / over)
    loss = noisy(GUESS + (learnt() - GUESS) * share, np.where(STEP < 300, 0.05, 0.05 * share + 0.002), seed)
    return run(loss=loss, norm=noisy(0.2 + 0.8 * share, 0.02, seed), lr=cosine(600))


def mislabelled(seed: int = 0, rows: float = 40.0) -> Run:
    """From step 300 on the labels are random: the loss jumps over the guess, and comes down to it as the model unlearns."""
    gone = np.maximum(0, STEP - 300)
    loss = np.where(STEP < 300, learnt(), GUESS + 4.0 * np.exp(-gone / rows))
    norm = np.where(STEP < 300, 1.0, 0.4 + 5.0 * np.exp(-gone / rows))
    return run(loss=noisy(loss, 0.05 * np.where(STEP < 300, 1.0, 0.1), seed), norm=noisy(norm, 0.02, seed), lr=cosine(600))


def ramped(seed: int = 0) -> Run:
    """More and more labels are random: the loss climbs evenly, the norm climbs with it."""
    share = np.clip((STEP - 300) / 250.0, 0.0, 1.0)
    return run(
        loss=noisy(learnt() + (GUESS - learnt()) * share, 0.05, seed), norm=noisy(1.0 + 2.0 * share, 0.05, seed), lr=cosine(600)
    )  # fmt: skip


def kept(seed: int = 0) -> Run:
    return run(loss=noisy(learnt(), 0.05, seed), norm=noisy(np.full(600, 0.8), 0.02, seed), lr=cosine(600))


TRIOS = {"scores-fade": Trio(faded(), mislabelled(), run(loss=faded().series["loss/train"].values))}


def test_every_signal_of_the_file_is_tried() -> None:
    check_all(fading, TRIOS)


@each(TRIOS)
def test_fires_stays_silent_and_does_not_know(signal: str, trio: Trio) -> None:
    check(signal, trio)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("over", [4.0, 15.0, 40.0])
def test_scores_that_fade_are_weights_that_shrink_and_said_with_doubt(over: float, seed: int) -> None:
    first = judge(faded(over, seed)).findings[0]
    assert first.cause.id == "weight-decay-too-high"
    assert first.confidence < 0.75


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("other", [mislabelled, ramped, kept])
def test_what_overshoots_or_raises_the_norm_or_keeps_its_gain_has_not_faded(other: Callable[[int], Run], seed: int) -> None:
    assert state(other(seed), "scores-fade") is State.ABSENT
    assert "weight-decay-too-high" not in names(other(seed))
    assert other is not kept or alarms(other(seed)) == []


def test_a_run_that_never_learnt_has_nothing_to_fade() -> None:
    flat = run(loss=noisy(np.full(600, GUESS), 0.002), norm=noisy(np.full(600, 0.2), 0.02), lr=cosine(600))
    assert state(flat, "scores-fade") is State.ABSENT


def test_a_loss_that_is_logged_every_so_often_and_jumps_in_one_row_is_not_known_to_fade() -> None:
    made = faded(0.3)
    assert state(made, "scores-fade") is State.ABSENT
