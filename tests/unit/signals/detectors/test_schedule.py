"""What the learning rate does, and whether the loss follows."""

from __future__ import annotations

import numpy as np
import pytest
from support.runs import alarms, cosine, event, falling, level, look, names, run, state, with_at
from support.trios import Trio, check, check_all, each

from sismo.records.types import Note
from sismo.signals.detectors import schedule
from sismo.signals.types import State

CALM, NORM, LR = falling(400), level(400, 1.0, 0.05), cosine(400)
STEP = np.arange(400)
NO_LR = run(loss=CALM)
WARM = np.linspace(1e-7, 1e-5, 400)
DOWN_UP = np.concatenate([np.linspace(0, 1e-3, 40), np.linspace(1e-3, 1e-4, 160), np.linspace(1e-4, 9e-4, 200)])
RESTARTS = np.concatenate([1e-3 * 0.5 * (1 + np.cos(np.pi * np.arange(100) / 100)) + 1e-6] * 4)
JUMP = np.where(STEP < 200, 1e-3, 1e-2)
FOLLOWS = np.where(STEP < 200, CALM, CALM + 1.0)
V = with_at(CALM, 5, *(CALM[5:25] + 3.0 * np.sin(np.pi * np.arange(20) / 19)))
VAL = {step: 2.0 + 12.0 * np.exp(-(((step - 100) / 20.0) ** 2)) for step in range(0, 400, 10)}

TRIOS = {
    "lr-all-zero": Trio(run(loss=CALM, lr=np.zeros(400)), run(loss=CALM, lr=LR), NO_LR),
    "lr-under-any-recipe": Trio(run(lr=WARM * 1e-6), run(lr=np.full(400, 1e-6)), NO_LR),
    "lr-tiny": Trio(run(lr=np.full(400, 1e-7)), run(lr=np.full(400, 1e-6)), NO_LR),
    "lr-only-rises": Trio(run(lr=WARM), run(lr=LR), NO_LR),
    "lr-starts-high": Trio(run(lr=LR[40:]), run(lr=LR), run(lr=(STEP + 5000, LR))),
    "lr-jumps-up": Trio(run(lr=JUMP), run(lr=RESTARTS), NO_LR),
    "lr-first-step-full": Trio(run(lr=with_at(LR, 0, 3e-3)), run(lr=LR), NO_LR),
    "loss-follows-lr-jump": Trio(run(loss=FOLLOWS, lr=JUMP), run(loss=CALM, lr=JUMP), run(lr=JUMP)),
    "lr-rises-late": Trio(run(lr=DOWN_UP), run(lr=RESTARTS), NO_LR),
    "lr-rises-with-loss": Trio(run(loss=CALM, lr=WARM), run(loss=CALM, lr=LR), NO_LR),
    "lr-floor-early": Trio(run(lr=np.maximum(0, 1e-3 * (1 - STEP / 97))), run(lr=np.maximum(0, 1e-3 * (1 - STEP / 390))), NO_LR),
    "lr-constant": Trio(run(lr=np.full(50, 1e-3)), run(lr=LR), NO_LR),
    "lr-constant-against-config": Trio(
        run(lr=np.full(50, 1e-3), schedule="cosine"), run(lr=np.full(50, 1e-3), schedule="constant"), run(lr=np.full(50, 1e-3))
    ),
    "lr-staircase": Trio(run(lr=1e-3 * 0.83 ** (STEP // 50)), run(lr=LR), NO_LR),
    "warmup-longer-than-run": Trio(
        run(lr=WARM, warmup_steps=500, total_steps=400), run(lr=WARM, warmup_steps=40, total_steps=400), run(lr=WARM)
    ),
    "lr-restarts": Trio(run(lr=RESTARTS), run(lr=LR), NO_LR),
    "lr-over-one": Trio(run(lr=np.full(50, 20.0)), run(lr=LR), NO_LR),
    "val-explodes-at-lr-peak": Trio(
        run(val=VAL, lr=cosine(400, warmup=100)), run(val=dict.fromkeys(range(0, 400, 10), 2.0), lr=LR), run(val=VAL)
    ),
}


def test_every_signal_of_the_file_is_tried() -> None:
    check_all(schedule, TRIOS)


@each(TRIOS)
def test_fires_stays_silent_and_does_not_know(signal: str, trio: Trio) -> None:
    check(signal, trio)


def test_a_rate_that_prints_as_zero_is_not_zero() -> None:
    """Four decimals turn a peak of 3e-4 into 0.0003 and its ends into 0.0000."""
    made = run(loss=CALM, lr=np.round(LR, 4))
    assert state(made, "lr-all-zero") is State.ABSENT
    assert alarms(made) == []


def test_a_rate_that_is_rounded_to_zero_on_every_row_does_not_condemn_a_run_that_learns() -> None:
    made = run(loss=CALM, lr=np.round(np.full(400, 2e-5), 4))
    assert state(made, "lr-all-zero") is State.PRESENT
    assert "lr-zero" not in alarms(made)


def test_a_rate_that_is_zero_and_a_loss_that_stands_is_the_cause() -> None:
    assert names(run(loss=level(400, 2.3, 0.02), lr=np.zeros(400)))[0] == "lr-zero"


def test_a_run_still_in_its_warmup_has_no_rate_that_is_too_high() -> None:
    """At 1e-7, with 10,000 steps of warmup to go, a loss that bumps is not explained by the LR."""
    made = run(loss=with_at(falling(400, start=10.8, end=9.5), 300, 12.0, 11.0), lr=np.linspace(0, 1e-7, 400), norm=NORM)
    assert "lr-too-high" not in names(made)
    assert "missing-warmup" not in names(made)
    assert "warmup-never-ends" not in alarms(made)


def test_a_run_that_ends_inside_its_warmup_and_learns_nothing_is_too_low() -> None:
    assert names(run(loss=level(400, 5.0, 0.03), lr=np.linspace(0, 1e-6, 400), warmup_steps=4000, total_steps=400))[0] == "lr-too-low"


@pytest.mark.parametrize("cycles", [2, 3, 4, 8])
def test_warm_restarts_are_no_jumps(cycles: int) -> None:
    rows = 800 // cycles
    lr = np.concatenate([1e-3 * 0.5 * (1 + np.cos(np.pi * np.arange(rows) / rows)) + 1e-6] * cycles)
    loss = np.concatenate([falling(rows, seed, start=2.4 if seed else 6.0) for seed in range(cycles)])
    made = run(loss=loss, lr=lr)
    assert state(made, "lr-jumps-up") is State.ABSENT
    assert state(made, "lr-rises-late") is State.ABSENT
    assert alarms(made) == []


def test_restarts_whose_periods_double_are_no_jumps() -> None:
    lr = np.concatenate([1e-3 * 0.5 * (1 + np.cos(np.pi * np.arange(rows) / rows)) + 1e-6 for rows in (50, 100, 200, 400)])
    assert state(run(lr=lr), "lr-jumps-up") is State.ABSENT
    assert state(run(lr=lr), "lr-rises-late") is State.ABSENT


def test_a_resume_that_restores_the_curve_is_no_jump() -> None:
    made = run(loss=CALM, lr=LR, events=[event(200, "resume")])
    assert state(made, "lr-jumps-up") is State.ABSENT
    assert alarms(made) == []


def test_a_step_decay_is_no_jump() -> None:
    made = run(loss=CALM, lr=np.where(STEP < 150, 0.1, np.where(STEP < 300, 0.01, 0.001)))
    assert state(made, "lr-jumps-up") is State.ABSENT


@pytest.mark.parametrize("digits", [3, 4, 5, 6])
def test_a_smooth_decay_printed_with_few_digits_is_no_staircase(digits: int) -> None:
    rows = np.arange(5 * 10**digits)
    smooth = 3e-4 * (1 - 0.99 * rows / rows.size)
    printed = np.array([float(f"{rate:.{digits}g}") for rate in smooth])
    made = run(loss=np.full(rows.size, 2.0) + 1e-3 * np.sin(rows), lr=printed)
    assert state(made, "lr-staircase") is not State.PRESENT


def test_a_staircase_of_many_low_stairs_is_one() -> None:
    stairs = np.repeat(1e-3 * 0.9995 ** np.arange(4000), 3)
    assert state(run(loss=np.linspace(3.0, 2.0, stairs.size), lr=stairs), "lr-staircase") is State.PRESENT


def test_a_sparse_log_of_a_cosine_has_no_jump_and_no_staircase() -> None:
    lr = cosine(20_000, warmup=500)[::500]
    made = run(loss=(np.arange(40) * 500, falling(40)), lr=(np.arange(40) * 500, lr))
    assert state(made, "lr-jumps-up") is State.ABSENT
    assert state(made, "lr-staircase") is State.ABSENT


def test_a_jump_is_placed_and_measured() -> None:
    seen = look(run(loss=FOLLOWS, lr=JUMP), "lr-jumps-up")
    assert seen.start == 200
    assert seen.numbers["factor"] == pytest.approx(10.0)
    assert names(run(loss=FOLLOWS, lr=JUMP, norm=NORM))[0] == "lr-jump"


def test_a_linear_decay_over_a_round_number_of_steps_is_not_rounded() -> None:
    made = run(loss=CALM, lr=np.maximum(0.0, 1e-3 * (1 - STEP / 100)))
    assert state(made, "lr-floor-early") is State.PRESENT


def test_no_warmup_with_calm_first_steps_is_only_a_note() -> None:
    made = run(loss=CALM, lr=LR[40:], norm=NORM)
    assert "missing-warmup" in names(made)
    assert alarms(made) == []


def test_no_warmup_with_a_thrown_norm_is_broken() -> None:
    made = run(loss=V[: LR[40:].size], lr=LR[40:], norm=with_at(NORM, 4, 15.0, 20.0, 12.0))
    assert names(made)[0] == "missing-warmup"
    assert "missing-warmup" in alarms(made)


def test_literal_wants_ten_times_the_steady_norm() -> None:
    made = run(loss=CALM, norm=with_at(NORM, 4, 7.0))
    assert state(made, "norm-spikes-early", "robust") is State.PRESENT
    assert state(made, "norm-spikes-early", "literal") is State.ABSENT


def test_a_climb_among_first_rows_whose_noise_falls_with_the_loss_is_no_v() -> None:
    for seed in range(20):
        noisy = 1.2 * np.exp(-STEP / 60.0 + level(400, 0.0, 0.4, seed=seed))
        assert state(run(loss=noisy), "loss-v-early") is State.ABSENT


def test_a_climb_among_noisy_first_rows_is_no_v_where_all_later_rows_are_at_one_low_level() -> None:
    for seed in range(20):
        falls = np.where(STEP < 40, 0.4 - 0.008 * STEP, 0.02)
        assert state(run(loss=falls * np.exp(level(400, 0.0, 0.18, seed=seed))), "loss-v-early") is State.ABSENT


def test_a_loss_thrown_a_thousandfold_is_no_lack_of_warmup() -> None:
    made = run(loss=with_at(CALM, 5, 1e5, 1e7, 1e6, 1e4), norm=with_at(NORM, 5, 1e6, 1e6), lr=np.full(400, 10.0))
    assert state(made, "loss-v-early") is State.ABSENT
    assert state(made, "norm-spikes-early") is State.ABSENT


@pytest.mark.parametrize(("first", "apart", "told"), [(0.02, 0.02, True), (0.0, 0.004, True), (0.38, 0.02, False), (1.6, 0.01, False)])
def test_counted_rows_out_of_the_middle_of_an_epoch_are_no_start(first: float, apart: float, told: bool) -> None:
    epochs = np.round(first + apart * np.arange(30), 2)
    lr = 1e-4 * (1 - 0.01 * np.arange(30))
    counted = Note("guessed-step", "rows have no step; they were counted instead")
    made = run(loss=falling(30), lr=lr, more={"epoch": epochs}, notes=(counted,))
    assert ("missing-warmup" in names(made)) is told
    assert "missing-warmup" in names(run(loss=falling(30), lr=lr, more={"epoch": np.ones(30)}, notes=(counted,)))


def test_a_rate_that_moves_nothing_needs_no_warmup() -> None:
    assert "missing-warmup" not in names(run(loss=falling(30), lr=np.linspace(2.3e-7, 1.8e-7, 30)))
    assert "missing-warmup" in names(run(loss=falling(30), lr=np.linspace(2.3e-4, 1.8e-4, 30)))


def test_a_loss_that_explodes_under_a_logged_rate_of_0_was_trained_with_another() -> None:
    loss = np.concatenate([[1.46], 23.0 * 40.0 ** np.arange(20), np.full(100, np.nan)])
    assert names(run(loss=loss, lr=np.zeros(121)))[0] == "exploding-gradients"
