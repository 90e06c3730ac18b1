"""A loss that freezes at one number, and gradients that are exactly 0."""

from __future__ import annotations

import numpy as np
from support.runs import alarms, falling, level, look, names, run
from support.trios import Trio, check, check_all, each

from sismo.signals.detectors import frozen
from sismo.signals.types import State

MOVING = level(12, 11.5, 0.7)
FROZEN = np.concatenate([MOVING, [48.31], np.full(15, 0.4372)])
AGAIN = np.random.default_rng(5).choice([2.4113, 2.6071, 1.9832, 2.2209, 2.8417, 2.0555, 2.3398], 64)
NO_GRADIENT, SPREAD = np.zeros(8), np.full(8, 0.13)


def rewarded(norm: np.ndarray, spread: np.ndarray | None) -> object:
    more = {} if spread is None else {"metric/reward_std": spread}
    return run(loss=np.zeros(8), norm=norm, more=more, objective="rl")


TRIOS = {
    "loss-freezes": Trio(run(loss=FROZEN), run(loss=np.concatenate([MOVING, level(16, 0.4, 0.03)])), run(loss=MOVING[:4])),
    "losses-come-again": Trio(run(loss=AGAIN), run(loss=np.round(AGAIN * 8) / 8), run(loss=AGAIN[:20])),
    "rewards-all-equal": Trio(rewarded(NO_GRADIENT, np.zeros(8)), rewarded(NO_GRADIENT, SPREAD), rewarded(NO_GRADIENT, None)),
    "gradient-zero-though-rewards-differ": Trio(
        rewarded(NO_GRADIENT, SPREAD), rewarded(np.full(8, 0.2), SPREAD), rewarded(NO_GRADIENT, None)
    ),
}


def test_every_signal_of_the_file_is_tried() -> None:
    check_all(frozen, TRIOS)


@each(TRIOS)
def test_fires_stays_silent_and_does_not_know(signal: str, trio: Trio) -> None:
    check(signal, trio)


def test_a_loss_that_is_the_same_number_for_every_batch_is_not_healthy() -> None:
    assert names(run(loss=FROZEN))[0] == "dead-units"


def test_a_descent_that_ends_at_the_last_digit_is_at_rest_and_not_frozen() -> None:
    smooth = np.round(0.25 + 2.0 * np.exp(-np.arange(80) / 6), 4)
    assert look(run(loss=smooth), "loss-freezes").state is State.ABSENT


def test_a_loss_that_stands_while_the_lr_is_zero_is_not_frozen() -> None:
    lr = np.where(np.arange(FROZEN.size) < 12, 1e-3, 0.0)
    assert look(run(loss=FROZEN, lr=lr), "loss-freezes").state is State.ABSENT


def test_losses_that_come_again_to_the_last_digit_are_those_of_weights_that_stand() -> None:
    assert names(run(loss=AGAIN))[0] == "update-changes-nothing"


def test_two_classes_of_losses_of_two_digits_come_again_by_chance() -> None:
    coarse = np.round(level(64, 0.3, 0.03), 2)
    assert look(run(loss=coarse), "losses-come-again").state is State.ABSENT


def test_answers_that_all_get_the_same_reward_leave_nothing_to_learn_from() -> None:
    assert names(TRIOS["rewards-all-equal"].fires)[0] == "degenerate-targets"


def test_a_gradient_of_zero_beside_rewards_that_differ_reaches_no_weight() -> None:
    assert names(TRIOS["gradient-zero-though-rewards-differ"].fires)[0] == "frozen-by-mistake"


def test_a_policy_whose_loss_is_zero_by_definition_and_whose_gradient_lives_raises_no_alarm() -> None:
    assert alarms(run(loss=np.zeros(8), norm=np.full(8, 0.4), more={"metric/reward_std": SPREAD}, objective="rl")) == []


def test_a_jump_that_stays_is_told_though_the_noise_came_with_it() -> None:
    rng = np.random.default_rng(3)
    values = np.concatenate([0.31 + 0.01 * rng.random(11), 0.75 + 0.9 * rng.random(25)])
    assert look(run(loss=values), "loss-ends-far-above-start").state is State.PRESENT
    assert look(run(loss=falling(60)), "loss-ends-far-above-start").state is State.ABSENT


def test_a_loss_learnt_by_heart_that_is_not_next_to_zero_once_is_no_overflow() -> None:
    assert look(run(loss=[4e-8, 1.12, 0.0, 7e-9, 0.09, 0.0]), "loss-leaps-for-one-row").state is State.ABSENT


def test_zeros_to_the_end_after_two_rows_of_a_loss_hide_a_nan() -> None:
    assert names(run(loss=[2.1, 1.7, 0.0, 0.0, 0.0, 0.0, 0.0]))[0] == "nan-hidden-by-logger"
