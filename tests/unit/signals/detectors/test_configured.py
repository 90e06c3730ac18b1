"""Whether the learning rate does what the configuration says."""

from __future__ import annotations

import numpy as np
import pytest
from support.runs import alarms, cosine, falling, level, look, names, run
from support.trios import Trio, check, check_all, each

from sismo.records.types import Note, Run
from sismo.signals.detectors import configured
from sismo.signals.types import State

STEP = np.arange(400)
MEANT = cosine(400, warmup=40)
LINE = 1e-6 * (STEP + 1)
UPSIDE_DOWN = np.where(STEP < 40, 1e-5 * STEP / 40, 1.01e-3 - MEANT)
FOUR_TIMES = MEANT[np.minimum(4 * STEP, 399)]
STAIRS = MEANT[STEP // 25]


def planned(lr: object, **header: object) -> Run:
    known = {"schedule": "cosine", "warmup_steps": 40, "total_steps": 400, **header}
    return run(lr=lr, **known)  # type: ignore[arg-type]


TRIOS = {
    "warmup-skipped": Trio(planned(cosine(400, warmup=1)), planned(MEANT), run(lr=cosine(400, warmup=1))),
    "warmup-overrun": Trio(planned(LINE), planned(MEANT), run(lr=LINE)),
    "lr-upside-down": Trio(planned(UPSIDE_DOWN), planned(MEANT), run(lr=UPSIDE_DOWN)),
    "schedule-ends-early": Trio(planned(FOUR_TIMES), planned(MEANT), run(lr=FOUR_TIMES)),
    "lr-stairs-against-config": Trio(planned(STAIRS), planned(MEANT), run(lr=STAIRS)),
}


def test_every_signal_of_the_file_is_tried() -> None:
    check_all(configured, TRIOS)


@each(TRIOS)
def test_fires_stays_silent_and_does_not_know(signal: str, trio: Trio) -> None:
    check(signal, trio)


@pytest.mark.parametrize("signal", TRIOS)
def test_a_schedule_that_is_meant_to_be_constant_or_in_steps_is_not_held_to_a_curve(signal: str) -> None:
    for lr in (LINE, UPSIDE_DOWN, FOUR_TIMES, STAIRS):
        assert look(planned(lr, schedule="constant_with_warmup"), signal).state is State.ABSENT


def test_three_stairs_are_too_few_to_be_a_staircase_and_enough_against_the_configuration() -> None:
    assert look(planned(MEANT[STEP // 150]), "lr-stairs-against-config").state is State.PRESENT
    uneven = np.select([STEP < 150, STEP < 200], [1e-3, 5e-4], 1e-4)
    assert look(planned(uneven), "lr-stairs-against-config").state is State.ABSENT


@pytest.mark.parametrize("header", [{"warmup_steps": 0}, {"warmup_steps": 3}])
def test_no_warmup_and_one_that_is_over_at_once_are_not_skipped(header: dict[str, int]) -> None:
    assert look(planned((STEP[9::10], cosine(400, warmup=1)[9::10]), **header), "warmup-skipped").state is State.ABSENT


def test_a_warmup_that_is_configured_and_not_there_is_more_than_a_note() -> None:
    made = run(loss=falling(400), norm=level(400, 1.0, 0.1), lr=cosine(400, warmup=1), warmup_steps=40)
    assert alarms(made) == ["missing-warmup"]
    assert alarms(run(loss=falling(400), norm=level(400, 1.0, 0.1), lr=cosine(400, warmup=1))) == []


def test_an_lr_that_is_held_for_the_warmup_and_goes_down_with_the_root_of_the_step_is_meant() -> None:
    root = 0.01 / np.sqrt(np.maximum(STEP, 40) / 40.0)
    assert look(planned(root, schedule="rsqrt"), "warmup-skipped").state is State.ABSENT
    assert look(planned(0.01 / np.sqrt(np.maximum(STEP, 1)), schedule="rsqrt"), "warmup-skipped").state is State.PRESENT


def test_rows_of_epochs_and_rows_that_were_counted_do_not_say_when_a_warmup_was() -> None:
    for made in (planned(MEANT[40::20], step_unit="epoch"), run(lr=MEANT[40::20], warmup_steps=40, notes=[Note("guessed-step", "")])):
        assert look(made, "warmup-skipped").state is State.UNKNOWN
    assert look(planned(MEANT[40::20]), "warmup-skipped").state is State.PRESENT


def test_a_schedule_that_is_never_stepped_has_no_warmup_for_that_reason() -> None:
    made = run(loss=falling(400), norm=level(400, 1.0, 0.1), lr=np.full(400, 1e-3), warmup_steps=40, schedule="cosine", total_steps=400)
    assert names(made)[0] == "scheduler-never-stepped"


@pytest.mark.parametrize("begins", [100, 1000, 3000])
@pytest.mark.parametrize("rows", [40, 200])
def test_a_piece_from_the_middle_of_a_warmup_says_nothing_against_it(begins: int, rows: int) -> None:
    """Its first LR is near its highest, and it only rises: so does any piece of a warmup, however flat the loss is over so few rows."""
    step = np.arange(begins, begins + rows)
    loss, lr = (step, level(rows, 4.0, 0.05)), (step, 3e-4 * step / 12_000)
    planned = run(loss=loss, lr=lr, warmup_steps=12_000, total_steps=100_000)
    assert look(planned, "warmup-skipped").state is State.ABSENT
    assert alarms(planned) == []
    assert begins < rows or alarms(run(loss=loss, lr=lr)) == []


def test_a_log_that_ends_inside_its_warmup_has_no_overrun() -> None:
    assert look(planned(LINE[:70]), "warmup-overrun").state is State.ABSENT


def test_a_run_that_is_not_over_has_no_schedule_that_ends_early() -> None:
    assert look(planned(FOUR_TIMES[:150]), "schedule-ends-early").state is State.ABSENT


def test_a_run_of_no_steps_was_not_planned() -> None:
    assert look(planned(MEANT, total_steps=0), "schedule-ends-early").state is State.UNKNOWN
