"""Whether the loss falls, stands or rises."""

from __future__ import annotations

import numpy as np
import pytest
from support.runs import alarms, cosine, falling, level, look, names, run, state, with_at
from support.trios import Trio, check, check_all, each

from sismo.signals.detectors import learning
from sismo.signals.types import State

CALM = falling(600)
RISES = np.concatenate([falling(400), 2.0 + np.linspace(0, 1.2, 200) + level(200, 0.0)])
NORM = level(600, 1.0, 0.05)
SHORT = run(loss=CALM[:4])
ABOVE = np.concatenate([falling(200), np.linspace(2, 9, 200)])
TURNS = np.concatenate([np.geomspace(10, 1, 30), np.geomspace(1.05, 9, 30)])
PILES = np.concatenate([np.linspace(1, 60, 50), np.full(100, 60.0)])

TRIOS = {
    "loss-rising": Trio(run(loss=RISES), run(loss=CALM), run(loss=RISES[:19])),
    "norm-rising": Trio(run(norm=np.concatenate([NORM, np.linspace(1, 2, 200)])), run(norm=NORM), run(loss=CALM)),
    "loss-flat": Trio(run(loss=level(400)), run(loss=CALM), run(loss=level(99))),
    "loss-at-chance": Trio(run(loss=level(400, np.log(2), 0.004)), run(loss=CALM), SHORT),
    "loss-never-moves": Trio(run(loss=np.full(100, 2.3012)), run(loss=CALM), SHORT),
    "loss-stands-late": Trio(
        run(loss=np.concatenate([falling(200), level(400)])), run(loss=np.linspace(6, 2, 400) + level(400, 0.0)), run(loss=CALM[:59])
    ),
    "loss-ends-above-start": Trio(run(loss=ABOVE), run(loss=CALM), SHORT),
    "loss-ends-far-above-start": Trio(run(loss=np.where(np.arange(400) < 200, 2.0, 4.0)), run(loss=np.linspace(2.0, 2.6, 400)), SHORT),
    "loss-turns-and-climbs": Trio(run(loss=TURNS), run(loss=CALM), SHORT),
    "norm-halves-before-turn": Trio(
        run(loss=TURNS, norm=np.where(np.arange(60) < 10, 40.0, 8.0)), run(loss=TURNS, norm=np.linspace(4, 60, 60)), run(loss=TURNS)
    ),
    "norm-piles-up": Trio(run(norm=PILES), run(norm=NORM), run(norm=PILES[:5])),
    "loss-collapses": Trio(run(loss=np.where(np.arange(400) < 200, level(400), 1e-4)), run(loss=CALM), SHORT),
}


def test_every_signal_of_the_file_is_tried() -> None:
    check_all(learning, TRIOS)


@each(TRIOS)
def test_fires_stays_silent_and_does_not_know(signal: str, trio: Trio) -> None:
    check(signal, trio)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("tail", ["gaussian", "heavy", "remembers"])
def test_flat_noise_is_not_divergence(tail: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    shocks = rng.standard_t(3, 800) if tail == "heavy" else rng.standard_normal(800)
    if tail == "remembers":
        for row in range(1, 800):
            shocks[row] = 0.8 * shocks[row - 1] + 0.6 * shocks[row]
    made = run(loss=3.0 + 0.2 * shocks, norm=np.exp(0.2 * rng.standard_normal(800)), lr=cosine(800))
    assert state(made, "loss-rising") is State.ABSENT
    assert alarms(made) == []


@pytest.mark.parametrize("seed", range(5))
def test_a_slow_rise_under_noise_is_found_although_no_streak_is_strict(seed: int) -> None:
    loss = np.concatenate([falling(800, seed), 2.0 + np.linspace(0, 0.5, 200) + level(200, 0.0, 0.05, seed)])
    assert state(run(loss=loss), "loss-rising") is State.PRESENT
    assert state(run(loss=loss), "loss-rising", "literal") is State.ABSENT
    assert names(run(loss=loss, lr=cosine(1000), norm=level(1000, 1.0, 0.1)))[0] == "silent-divergence"


def test_literal_wants_two_hundred_strictly_rising_steps() -> None:
    rising = np.concatenate([falling(200, noise=0.0), 3.0 + np.arange(201) * 1e-4])
    assert state(run(loss=rising), "loss-rising", "literal") is State.PRESENT
    assert look(run(loss=rising), "loss-rising", "literal").start == 200
    assert state(run(loss=with_at(rising, 300, rising[299])), "loss-rising", "literal") is State.ABSENT
    assert state(run(loss=rising[-150:]), "loss-rising", "literal") is State.UNKNOWN


def test_a_rise_that_is_over_is_not_rising() -> None:
    assert state(run(loss=np.concatenate([RISES, falling(300, start=3.2)])), "loss-rising") is State.ABSENT


def test_a_curriculum_is_no_divergence() -> None:
    """Training gets harder and its loss rises; the validation loss falls all the while."""
    val = {step: 3.0 - step / 400 for step in range(0, 600, 20)}
    made = run(loss=np.linspace(2.0, 3.0, 600) + level(600, 0.0), val=val, lr=cosine(600), norm=NORM)
    assert state(made, "loss-rising") is State.PRESENT
    assert alarms(made) == []
    assert "by-design" in names(made)


def test_a_negative_loss_that_falls_is_no_rise() -> None:
    made = run(loss=-np.linspace(0.5, 5.0, 400) + level(400, 0.0), lr=cosine(400))
    assert state(made, "loss-rising") is State.ABSENT
    assert alarms(made) == []


@pytest.mark.parametrize("classes", [2, 10, 1000])
def test_a_uniform_guess_is_recognised(classes: int) -> None:
    made = run(loss=level(300, np.log(classes), 0.001 * np.log(classes)), lr=np.full(300, 1e-3))
    seen = look(made, "loss-at-chance")
    assert seen.state is State.PRESENT
    assert seen.numbers["classes"] == classes
    assert names(made)[0] == "no-learning"


def test_a_loss_that_passes_a_uniform_guess_is_not_stuck_there() -> None:
    assert state(run(loss=np.linspace(0.9, 0.5, 400)), "loss-at-chance") is State.ABSENT


@pytest.mark.parametrize("vocabulary", [-1, 0, 1])
def test_a_vocabulary_that_says_nothing_does_no_harm(vocabulary: int) -> None:
    """LLaMA's params.json has vocab_size −1."""
    assert state(run(loss=level(300, np.log(2), 0.001), vocab_size=vocabulary), "loss-at-chance") is State.PRESENT


def test_a_plateau_is_a_note() -> None:
    made = run(loss=np.concatenate([falling(300), level(600)]), lr=cosine(900), norm=level(900, 1.0, 0.05))
    assert names(made) == ["plateau"]
    assert alarms(made) == []


def test_gradients_that_pile_up_are_missing_zero_grad() -> None:
    made = run(loss=np.concatenate([TURNS, np.full(90, 9.5)]), norm=PILES, lr=np.full(150, 1e-3))
    assert "missing-zero-grad" in alarms(made)


def test_a_turn_after_a_fall_of_the_norm_is_not_piling_up() -> None:
    norm = np.concatenate([np.geomspace(40, 6, 30), np.geomspace(8, 90, 30)])
    assert alarms(run(loss=TURNS, norm=norm))[0] == "silent-divergence"
    assert "missing-zero-grad" in alarms(run(loss=TURNS, norm=np.linspace(2, 60, 60)))


def test_few_rows_that_repeat_five_digits_are_enough() -> None:
    assert alarms(run(loss=np.full(4, 13.8155))) == ["no-learning"]
    assert alarms(run(loss=np.full(3, 1.0342), val=np.full(3, 1.0518))) == ["no-learning"]
    assert alarms(run(loss=np.full(3, 1.0342))) == []
    assert alarms(run(loss=np.full(4, 1.5))) == []


def test_a_loss_that_never_moves_is_no_plateau() -> None:
    untrained = level(400, 7.2, 0.05)
    assert names(run(loss=untrained, lr=cosine()))[0] == "no-learning"
    assert names(run(loss=np.full(100, 0.5121)))[0] == "no-learning"
    assert "no-learning" not in names(run(loss=level(400, 2.05, 0.02), lr=cosine(peak=1e-5)))  # a trained model that is trained on
    assert "no-learning" not in names(run(loss=np.full(100, 2.1)))  # two digits hide what moves


def test_a_loss_that_ends_where_it_began_and_stands_is_a_plateau() -> None:
    """A warm model at too high an LR loses ground, wins it back, and gets no further."""
    hump = level(400, 0.144, 0.004) + 0.04 * np.exp(-(((np.arange(400) - 80) / 50.0) ** 2))
    assert "plateau" in names(run(loss=hump))


@pytest.mark.parametrize("rows", [10, 30])
def test_a_loss_that_runs_away_at_the_end_does_not_stand(rows: int) -> None:
    settled = np.concatenate([falling(200), level(400 - rows, 2.0, 0.02)])
    assert state(run(loss=np.concatenate([settled, level(rows, 2.0, 0.02)])), "loss-stands-late") is State.PRESENT
    away = run(loss=np.concatenate([settled, 2.0 * np.geomspace(1.05, 12, rows)]))
    assert state(away, "loss-stands-late") is State.ABSENT
    lost = run(loss=np.concatenate([settled, 2.0 * np.geomspace(1.05, 12, rows), np.full(60, np.nan)]))
    assert state(lost, "loss-stands-late") is State.ABSENT


def test_one_spike_near_the_end_leaves_a_plateau_a_plateau() -> None:
    loss = np.concatenate([falling(200), level(400, 2.0, 0.02)])
    loss[-3:-1] = 9.0
    assert state(run(loss=loss), "loss-stands-late") is State.PRESENT


@pytest.mark.parametrize("rows", [15, 40, 80])
@pytest.mark.parametrize("every", [10, 20, 50])
def test_a_rise_in_a_log_of_one_row_in_many_steps_is_seen_however_few_rows_it_takes(rows: int, every: int) -> None:
    rises = np.concatenate([falling(200), 2.0 + np.linspace(0.02, 0.8, rows) + level(rows, 0.0)])
    assert names(run(loss=rises, every=every))[0] == "silent-divergence"


@pytest.mark.parametrize("seed", range(5))
def test_noise_with_a_memory_is_no_rise(seed: int) -> None:
    """An autoregressive loss wanders for dozens of rows, as running means do."""
    chance = np.random.default_rng(seed)
    wanders = np.zeros(300)
    for row in range(1, 300):
        wanders[row] = 0.9 * wanders[row - 1] + 0.04 * chance.standard_normal()
    assert alarms(run(loss=falling(300, noise=0.02) + wanders, every=20)) == []


@pytest.mark.parametrize(("scale", "there"), [(1e9, State.ABSENT), (1.0, State.PRESENT)])
def test_a_loss_that_is_still_large_has_not_collapsed(scale: float, there: State) -> None:
    falls = scale * np.where(np.arange(400) < 200, level(400), 1e-4)
    assert state(run(loss=falls), "loss-collapses") is there


def test_the_steep_part_of_an_easy_descent_is_no_collapse() -> None:
    easy = 2.3 * np.exp(-np.arange(400) / 14.0) + 0.003 * np.exp(level(400, 0.0, 0.2))
    assert state(run(loss=easy), "loss-collapses") is State.ABSENT
    assert not alarms(run(loss=easy))


@pytest.mark.parametrize(
    ("rows", "state"),
    [
        ([0.7, 15.0, 30.0, 35.0], State.PRESENT),
        ([0.7, 0.8, 0.9, 1.0], State.ABSENT),  # it climbs, and the noise of later may do as much
        ([0.01, 15.0, 30.0, 35.0], State.ABSENT),  # it began at next to nothing
        ([60.0, 15.0, 30.0, 35.0], State.ABSENT),
    ],
)
def test_a_loss_that_the_first_step_throws_up_for_good_ends_far_above_its_start(rows: list[float], state: State) -> None:
    wild = 200 * np.exp(np.random.default_rng(0).normal(0, 0.8, 400))
    wild[::7] = 0.0
    wild[: len(rows)] = rows
    assert look(run(loss=wild), "loss-ends-far-above-start").state is state


@pytest.mark.parametrize("seed", range(5))
def test_the_norm_of_a_model_that_leaves_its_start_does_not_pile_up(seed: int) -> None:
    """Adding up has a pace: after so many steps so many gradients like the first, and hardly a row under the one before."""
    rng, step = np.random.default_rng(seed), np.arange(150)
    loss = falling(150)
    leaves = (1 + 0.13 * np.minimum(step, 60)) * np.exp(0.08 * rng.standard_normal(150))  # a line to eight times the first, up and down
    huge = (1 + 2.4 * np.minimum(step, 60)) * np.exp(0.02 * rng.standard_normal(150))
    for healthy in (leaves, huge):
        assert state(run(loss=loss, norm=healthy), "norm-piles-up") is State.ABSENT
        assert alarms(run(loss=loss, norm=healthy)) == []
    gradients = 1 + 0.3 * rng.standard_normal(150)
    for piled in (np.cumsum(gradients), np.sqrt(np.cumsum(gradients) ** 2 + 9 * (step + 1)) / np.sqrt(10)):
        assert state(run(loss=np.full(150, 2.0), norm=piled), "norm-piles-up") is State.PRESENT
        assert state(run(loss=np.full(15, 2.0), norm=(step[9::10] + 1, piled[9::10])), "norm-piles-up") is State.PRESENT


def test_a_few_steps_at_the_guess_have_learnt_nothing_yet() -> None:
    near = np.log(10) + 0.02 * np.random.default_rng(0).standard_normal(60)
    assert alarms(run(loss=near, vocab_size=10)) == ["no-learning"]
    assert alarms(run(loss=near[:8], vocab_size=10)) == []
    assert alarms(run(loss=near[:30], vocab_size=10)) == []
    assert alarms(run(loss=near[:8], vocab_size=10, step_unit="epoch")) == ["no-learning"]
    assert alarms(run(loss=near[:8], vocab_size=10, every=100)) == ["no-learning"]
