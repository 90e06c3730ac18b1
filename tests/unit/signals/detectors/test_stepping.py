"""What the LR's shape says of its scheduler."""

from __future__ import annotations

import numpy as np
import pytest
from support.runs import alarms, cosine, falling, names, run, state
from support.trios import Trio, check, check_all, each

from sismo.signals.detectors import stepping
from sismo.signals.types import State

CALM, LR, STEP = falling(600), cosine(600), np.arange(600)
NO_LR = run(loss=CALM)
STAIRS = 3e-5 * (1 + STEP // 100)
FLOOR = 3e-5
FAST = np.concatenate([cosine(150), np.full(450, cosine(150)[-1])])
UPSIDE_DOWN = np.where(STEP < 60, 3e-4 * (STEP + 1) / 60, 3e-3 - 2.7e-3 * 0.5 * (1 + np.cos(np.pi * (STEP - 60) / 540)))
AGAIN = np.concatenate([LR[:300], LR[:300]])
WARM_RESTARTS = np.concatenate([cosine(300) - cosine(300).min() + 1e-7] * 2)
HALF_COSINE = 1e-5 + 1.5e-4 * (1 - np.cos(np.pi * STEP / 600))

TRIOS = {
    "lr-warms-up-in-stairs": Trio(run(lr=STAIRS), run(lr=LR), NO_LR),
    "lr-floor-held": Trio(run(lr=FAST), run(lr=LR), NO_LR),
    "lr-climbs-again": Trio(run(lr=UPSIDE_DOWN), run(lr=HALF_COSINE), NO_LR),
    "lr-repeats-its-start": Trio(run(lr=AGAIN), run(lr=WARM_RESTARTS), NO_LR),
}


def test_every_signal_of_the_file_is_tried() -> None:
    check_all(stepping, TRIOS)


@each(TRIOS)
def test_fires_stays_silent_and_does_not_know(signal: str, trio: Trio) -> None:
    check(signal, trio)


@pytest.mark.parametrize(
    ("lr", "cause"),
    [
        (STAIRS, "scheduler-stepped-per-epoch"),
        (FAST, "scheduler-stepped-too-often"),
        (UPSIDE_DOWN, "lr-inverted"),
        (AGAIN, "scheduler-not-restored"),
        (3e-4 * (STEP + 1) / 600, "warmup-never-ends"),
    ],
    ids=["stairs", "fast", "upside-down", "again", "endless"],
)
def test_the_column_alone_names_the_cause(lr: np.ndarray, cause: str) -> None:
    assert names(run(loss=CALM, lr=lr))[0] == cause


def test_what_may_be_meant_is_a_note() -> None:
    for lr in (STAIRS, FAST, 3e-4 * (STEP + 1) / 600):
        assert alarms(run(loss=CALM, lr=lr)) == []


@pytest.mark.parametrize("shape", ["stairs down", "a warmup to a constant", "few rows", "milestones"])
def test_ordinary_schedules_have_none_of_these_shapes(shape: str) -> None:
    lr = {
        "stairs down": 1e-3 * 0.83 ** (STEP // 50),
        "a warmup to a constant": np.minimum(1.0, (STEP + 1) / 100) * 3e-4,
        "few rows": STAIRS[::20],
        "milestones": np.where(STEP < 300, 1e-3, 1e-4),
    }[shape]
    made = run(loss=CALM[: lr.size], lr=lr)
    assert {name: state(made, name) for name in TRIOS} == dict.fromkeys(TRIOS, State.ABSENT)
