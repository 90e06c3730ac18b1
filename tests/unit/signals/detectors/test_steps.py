"""Whether the optimizer's steps are of a size that training bears."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from support.runs import alarms, cosine, falling, look, names, run, with_at
from support.trios import Trio, check, check_all, each

from sismo.records.types import Run
from sismo.signals.detectors import steps
from sismo.signals.types import State

STEP = np.arange(600)
LR = cosine(600, warmup=60)
LEARNS = falling(600)
LOOKS = np.arange(0, 600, 10)
FORGETS = np.interp(STEP, [0, 30, 60, 400, 599], [6.0, 3.0, 4.5, 4.3, 2.0]) + 0.02 * np.sin(7 * STEP)


def recorded(values: object, lr: object = LR, **facts: object) -> Run:
    """Three groups whose updates have the same size over their weights at each look."""
    more = {f"update_ratio/{name}": (LOOKS, values) for name in "abc"}
    return run(loss=LEARNS, lr=lr, more=more, config={"sismo": facts} if facts else {})  # type: ignore[arg-type]


def configured(decay: float, optimizer: str = "AdamW", lr: object = LR, loss: object = LEARNS) -> Run:
    groups: list[Mapping[str, object]] = [{"lr": 1e-3, "weight_decay": decay}, {"lr": 1e-3, "weight_decay": 0.0}]
    return run(loss=loss, lr=lr, config={"sismo": {"optimizers": [optimizer], "groups": groups}})  # type: ignore[arg-type]


LOST = np.where(STEP < 300, LEARNS, np.nan)
RATES = np.interp(LOOKS, STEP, LR)
ROUNDED = RATES * np.where(LOOKS < 400, 5.0, 0.05)
TRIOS = {
    "best-before-lr-peak": Trio(run(loss=FORGETS, lr=LR), run(loss=LEARNS, lr=LR), run(loss=FORGETS)),
    "gradients-carried-over": Trio(
        run(more={"grad_carried": np.append(0.0, np.ones(40))}), run(more={"grad_carried": with_at(np.zeros(41), 9, 1.0)}), run(loss=LEARNS)
    ),
    "gradients-cleared": Trio(
        run(more={"grad_carried": np.zeros(41)}), run(more={"grad_carried": np.append(0.0, np.ones(40))}), run(loss=LEARNS)
    ),
    "lost-without-carried-gradients": Trio(
        run(loss=LOST), run(loss=LOST, more={"grad_carried": np.append(0.0, np.ones(40))}), run(norm=np.ones(40))
    ),
    "updates-of-a-tenth": Trio(recorded(np.full(60, 0.12)), recorded(np.full(60, 0.03)), run(loss=LEARNS)),
    "decay-outruns-learning": Trio(configured(30.0), configured(0.1), run(loss=LEARNS, lr=LR)),
    "updates-rounded-away": Trio(recorded(ROUNDED, weights_dtype="bf16"), recorded(5.0 * RATES, weights_dtype="bf16"), recorded(ROUNDED)),
}


def test_every_signal_of_the_file_is_tried() -> None:
    check_all(steps, TRIOS)


@each(TRIOS)
def test_fires_stays_silent_and_does_not_know(signal: str, trio: Trio) -> None:
    check(signal, trio)


@pytest.mark.parametrize("lr", [np.full(600, 1e-3), LR[::-1], np.where(STEP < 300, 1e-3, 3e-2)], ids=["constant", "falls", "jumps"])
def test_a_loss_that_rises_without_a_warmup_is_not_blamed_on_its_peak(lr: np.ndarray) -> None:
    assert look(run(loss=FORGETS, lr=lr), "best-before-lr-peak").state is State.ABSENT


def test_what_comes_in_after_the_peak_is_not_blamed_on_it() -> None:
    spoilt = LEARNS + np.where(STEP > 100, 3.0, 0.0)
    assert look(run(loss=spoilt, lr=LR), "best-before-lr-peak").state is State.ABSENT


def test_a_decay_that_is_usual_or_works_through_the_gradient_is_not_too_strong() -> None:
    assert look(configured(0.1, lr=100 * LR), "decay-outruns-learning").state is State.ABSENT  # the LR is what is unusual
    assert look(configured(30.0, "Adam"), "decay-outruns-learning").state is State.ABSENT


def test_weights_in_full_precision_round_nothing_away() -> None:
    assert look(recorded(ROUNDED, weights_dtype="fp32"), "updates-rounded-away").state is State.ABSENT


def test_a_rate_that_forgets_what_was_learnt_is_too_high_whatever_dies_of_it() -> None:
    dead = {"dead_units/a": (LOOKS, np.where(LOOKS < 100, 0.1, 1.0))}
    assert names(run(loss=FORGETS, lr=LR, more=dead))[0] == "lr-too-high"  # type: ignore[arg-type]


def test_a_decay_of_thirty_is_named_before_the_rate() -> None:
    assert names(configured(30.0, loss=FORGETS))[0] == "weight-decay-too-high"


def test_a_norm_that_climbs_where_gradients_are_cleared_is_no_missing_zero_grad() -> None:
    climbs = np.linspace(1, 60, 50)
    assert "missing-zero-grad" in alarms(run(LEARNS, norm=climbs))
    assert "missing-zero-grad" not in names(run(LEARNS, norm=climbs, more={"grad_carried": np.zeros(41)}))


def test_gradients_that_pile_up_are_told_of_a_loss_below_zero_too() -> None:
    assert alarms(run(loss=-LEARNS, more={"grad_carried": np.append(0.0, np.ones(40))})) == ["missing-zero-grad"]


def test_gradients_that_pile_up_until_the_loss_is_lost_come_before_the_explosion() -> None:
    climbs = np.where(STEP < 300, np.geomspace(1.0, 1e5, 600), np.nan)
    explodes = np.where((STEP > 280) & (STEP < 300), 1e3 * LEARNS, LOST)
    said = names(run(loss=explodes, norm=climbs, more={"grad_carried": np.append(0.0, np.ones(299))}))
    assert said[0] == "missing-zero-grad"
    assert "missing-zero-grad" not in names(run(loss=explodes, norm=climbs))


def test_a_first_look_at_updates_as_large_as_the_weights_is_enough() -> None:
    once = [run(loss=LEARNS, more={f"update_ratio/{name}": {0: ratio} for name in "abc"}) for ratio in (2.0, 0.5)]
    assert [look(made, "updates-of-a-tenth").state for made in once] == [State.PRESENT, State.UNKNOWN]


@pytest.mark.parametrize(("large", "state"), [(2, State.ABSENT), (10, State.ABSENT), (12, State.PRESENT)])
def test_large_updates_of_the_first_steps_alone_are_an_optimizers_own(large: int, state: State) -> None:
    """Adam's first steps are of the size of the LR in every entry, whatever the gradient."""
    every_step = {f"update_ratio/{name}": np.where(STEP < large, 0.12, 0.02) for name in "abc"}
    assert look(run(loss=LEARNS, more=every_step), "updates-of-a-tenth").state is state


def test_two_looks_of_many_at_updates_that_no_training_bears_are_enough() -> None:
    assert look(recorded(np.where(np.arange(60) // 2 == 5, 0.12, 0.02)), "updates-of-a-tenth").state is State.PRESENT


@pytest.mark.parametrize(
    ("decay", "momentum", "lr", "state"),
    [
        (0.3, 0.9, 0.1, State.PRESENT),
        (0.3, 0.0, 0.1, State.PRESENT),
        (5e-4, 0.9, 0.1, State.ABSENT),
        (0.05, 0.9, 0.1, State.ABSENT),
        (0.3, 0.9, 1e-4, State.ABSENT),
    ],
)
def test_a_decay_of_sgd_is_multiplied_by_its_momentum(decay: float, momentum: float, lr: float, state: State) -> None:
    facts = {"optimizers": ["SGD"], "groups": [{"lr": lr, "weight_decay": decay, "momentum": momentum}]}
    assert look(run(loss=LEARNS, lr=np.full(LEARNS.size, lr), config={"sismo": facts}), "decay-outruns-learning").state is state


def test_an_lr_under_zero_has_no_peak() -> None:
    assert look(run(loss=LEARNS, lr=-1e-3 - LR), "best-before-lr-peak").state is State.ABSENT
