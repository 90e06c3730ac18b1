"""A logged loss that hides what happened."""

from __future__ import annotations

import numpy as np
import pytest
from support.runs import alarms, cosine, event, falling, level, look, names, run, state, with_at
from support.trios import Trio, check, check_all, each

from sismo.judge import judge
from sismo.signals.detectors import hidden
from sismo.signals.types import State

NAN = float("nan")
CALM, NORM = falling(400), level(400, 1.0, 0.1)
ZERO_LATE = np.where(np.arange(400) < 200, CALM, 0.0)
ZERO = np.zeros(400)

TRIOS = {
    "every-step-skipped": Trio(
        run(loss=level(200, 6.2, 0.05), norm=np.full(200, NAN)), run(loss=falling(200), norm=np.full(200, NAN)), run(loss=falling(200))
    ),
    "loss-exactly-zero": Trio(run(loss=ZERO_LATE), run(loss=with_at(CALM, 200, 0.0)), run(norm=NORM)),
    "loss-zero-later": Trio(run(loss=ZERO_LATE), run(loss=ZERO), run(norm=NORM)),
    "loss-zero-from-first-row": Trio(run(loss=ZERO), run(loss=ZERO_LATE), run(norm=NORM)),
    "zero-loss-norm-zero": Trio(run(loss=ZERO, norm=ZERO), run(loss=ZERO, norm=NORM), run(loss=ZERO)),
    "zero-loss-norm-nan": Trio(run(loss=ZERO, norm=np.full(400, NAN)), run(loss=ZERO, norm=NORM), run(loss=ZERO)),
    "zero-loss-norm-alive": Trio(run(loss=ZERO, norm=NORM), run(loss=ZERO, norm=ZERO), run(loss=ZERO)),
    "norm-nan-loss-finite": Trio(
        run(loss=CALM, norm=np.where(np.arange(400) < 200, NORM, NAN)), run(loss=CALM, norm=with_at(NORM, 3, NAN)), run(loss=CALM)
    ),
    "loss-repeated-at-nan-norm": Trio(
        run(loss=with_at(CALM, 200, CALM[199]), norm=with_at(NORM, 200, NAN)),
        run(loss=with_at(CALM, 200, CALM[199]), norm=with_at(NORM, 202, NAN)),
        run(loss=CALM),
    ),
}


def test_every_signal_of_the_file_is_tried() -> None:
    check_all(hidden, TRIOS)


@each(TRIOS)
def test_fires_stays_silent_and_does_not_know(signal: str, trio: Trio) -> None:
    check(signal, trio)


def test_gradients_that_are_nan_throughout_are_not_healthy() -> None:
    made = run(loss=CALM, norm=np.full(400, NAN), lr=cosine())
    assert judge(made).healthy is False
    assert names(made)[0] == "nan-hidden-by-logger"


def test_one_benign_overflow_at_step_three_is_no_alarm() -> None:
    made = run(
        loss=CALM, norm=with_at(NORM, 3, float("inf")), lr=cosine(), dtype="fp16",
        scale=np.where(np.arange(400) < 4, 65536.0, 32768.0), events=[event(3, "overflow", scale_before=65536.0, scale_after=32768.0)],
    )  # fmt: skip
    assert alarms(made) == []
    assert "loss-scale-startup" in names(made)


def test_a_loss_that_drops_to_zero_on_the_way_is_lost_and_not_unlabelled() -> None:
    fell = [2.2, 2.1, 1.9, 1.8, 1.7, 1.6, 0.0, 0.0, 0.0]
    assert alarms(run(loss=fell))[0] == "nan-hidden-by-logger"
    assert alarms(run(loss=[0.0] * 9))[0] == "all-labels-masked"
    assert alarms(run(loss=fell, norm=[1.0] * 6 + [0.0] * 3))[0] == "all-labels-masked"


@pytest.mark.parametrize("back", [1, 3])
def test_a_loss_that_came_back_from_zero_before_is_not_lost(back: int) -> None:
    """A triplet loss is 0 where every triplet is far enough apart."""
    loss = [3278.6, *[0.0] * back, 778.3, *[0.0] * 7]
    assert "nan-hidden-by-logger" not in names(run(loss=loss))
    assert "nan-hidden-by-logger" in names(run(loss=[3278.6, 1200.0, 778.3, *[0.0] * 7]))


def test_zeros_between_thousandths_are_rounded() -> None:
    assert alarms(run(loss=[0.0, 0.0, 0.001, 0.0, 0.001, 0.0, 0.0])) == []


def test_a_loss_of_zero_in_on_policy_reinforcement_is_its_definition() -> None:
    """GRPO: the advantages of a group average to 0, the gradient does not."""
    made = run(loss=np.zeros(200), norm=level(200, 0.4, 0.1), lr=np.full(200, 1e-6), objective="rl")
    assert state(made, "zero-loss-norm-alive") is State.PRESENT
    assert alarms(made) == []


def test_a_loss_of_zero_without_a_known_objective_is_told_by_its_norm() -> None:
    dead = run(loss=np.zeros(200), norm=np.zeros(200))
    alive = run(loss=np.zeros(200), norm=level(200, 0.4, 0.05))
    assert names(dead)[0] == "all-labels-masked"
    assert "all-labels-masked" not in alarms(alive)


def test_a_loss_that_rounds_to_zero_is_not_stuck() -> None:
    """Printed with four decimals, a loss that falls for good reads 0.0000 in the end."""
    tiny = np.round(np.exp(-np.arange(400) / 30.0), 4)
    assert tiny[-1] == 0.0
    assert state(run(loss=tiny, norm=NORM), "loss-exactly-zero") is State.ABSENT


def test_a_repeated_loss_alone_hides_nothing() -> None:
    made = run(loss=np.round(CALM, 1), norm=NORM)
    assert state(made, "loss-repeated-at-nan-norm") is State.ABSENT


def test_the_count_is_of_rows_with_both_numbers() -> None:
    norm = {step: 1.0 if step < 200 else NAN for step in range(0, 400, 2)}
    seen = look(run(loss=CALM, norm=norm), "norm-nan-loss-finite")
    assert (seen.numbers["count"], seen.numbers["rows"], seen.start) == (100, 200, 200)
