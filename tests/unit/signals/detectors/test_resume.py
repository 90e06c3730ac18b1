"""The seam of a resumed run."""

from __future__ import annotations

import numpy as np
import pytest
from support.runs import alarms, cosine, event, falling, level, look, names, run, state
from support.trios import Trio, check, check_all, each

from sismo.records.types import Run
from sismo.signals.detectors import resume
from sismo.signals.types import State

STEP = np.arange(600)
CALM, LR = falling(600), cosine(600)
SEAM = [event(300, "resume")]
HEALS = CALM + np.where(STEP >= 300, 2.0 * np.exp(-(STEP - 300) / 20.0), 0.0)
CLIMBS = CALM + np.where(STEP >= 300, 2.0 * np.exp(-(((STEP - 320) / 8.0) ** 2)), 0.0)
STAYS = CALM + np.where(STEP >= 300, 1.0, 0.0)
TOO_LOW = np.where(STEP >= 300, np.linspace(3.0, 0.1, 600), level(600, 2.0))
LR_AGAIN = np.concatenate([LR[:300], LR[:300]])
NO_LOSS, NO_LR = run(events=SEAM), run(loss=CALM, events=SEAM)


def moments(*at_seam: float) -> Run:
    """Adam's RMS of some groups: about 1 all along, and at the seam as given."""
    looks = np.arange(0, 400, 10)
    usual = 0.9 + 0.1 * np.sin(looks)
    return run(more={f"adam_rms/{at}": (looks, np.where(looks == 300, value, usual)) for at, value in enumerate(at_seam)}, events=SEAM)


TRIOS = {
    "resumed": Trio(run(loss=CALM, events=SEAM), run(loss=CALM), None),
    "loss-jumps-at-resume": Trio(run(loss=HEALS, events=SEAM), run(loss=CALM, events=SEAM), NO_LOSS),
    "loss-climbs-after-resume": Trio(run(loss=CLIMBS, events=SEAM), run(loss=HEALS, events=SEAM), NO_LOSS),
    "loss-heals-after-resume": Trio(run(loss=HEALS, events=SEAM), run(loss=STAYS, events=SEAM), NO_LOSS),
    "loss-too-low-after-resume": Trio(run(loss=TOO_LOW, events=SEAM), run(loss=CALM, events=SEAM), NO_LOSS),
    "moments-start-over-at-resume": Trio(moments(0.9995, 1.0, 0.4), moments(1.04, 1.0, 0.4), run(loss=CALM, events=SEAM)),
    "batches-again-after-resume": Trio(
        run(more={"batch/fingerprint": np.arange(400) % 300}, events=SEAM),
        run(more={"batch/fingerprint": np.arange(400) % 150}, events=SEAM),
        run(loss=CALM, events=SEAM),
    ),
    "lr-starts-over-at-resume": Trio(run(lr=LR_AGAIN, events=SEAM), run(lr=LR, events=SEAM), NO_LR),
    "summary-loss-too-low": Trio(
        run(loss=CALM, config={"summary_train_loss": 0.4}), run(loss=CALM, config={"summary_train_loss": float(CALM.mean())}), None
    ),
}


def test_every_signal_of_the_file_is_tried() -> None:
    check_all(resume, TRIOS)


@each(TRIOS)
def test_fires_stays_silent_and_does_not_know(signal: str, trio: Trio) -> None:
    check(signal, trio)


@pytest.mark.parametrize("seed", range(5))
def test_a_clean_seam_is_a_note_and_no_alarm(seed: int) -> None:
    made = run(loss=falling(600, seed), lr=LR, norm=level(600, 1.0, 0.1, seed), events=SEAM)
    assert names(made) == ["resumed"]


def test_a_jump_without_a_resume_is_none_of_this() -> None:
    made = run(loss=HEALS)
    for signal in ("loss-jumps-at-resume", "loss-heals-after-resume", "loss-climbs-after-resume"):
        assert state(made, signal) is State.ABSENT


def test_what_a_resume_lost_is_told_by_the_shape() -> None:
    assert names(run(loss=HEALS, lr=LR, events=SEAM))[0] == "resume-jumps-data"
    assert names(run(loss=CLIMBS, lr=LR, events=SEAM))[0] == "resume-lost-optimizer"
    assert names(run(loss=HEALS, lr=LR_AGAIN, events=SEAM))[0] == "scheduler-not-restored"


def test_an_lr_back_at_its_top_was_not_restored() -> None:
    """Without a warmup the schedule starts anew at its highest rate."""
    top = np.concatenate([cosine(600, warmup=1)[:300], cosine(600, warmup=1)[:300]])
    assert names(run(loss=HEALS, lr=top, events=SEAM))[0] == "scheduler-not-restored"
    assert state(run(loss=CALM, lr=np.where(STEP < 300, LR, 1.1 * LR), events=SEAM), "lr-starts-over-at-resume") is State.ABSENT


@pytest.mark.parametrize("seed", range(10))
def test_heavy_noise_after_a_clean_seam_is_no_climb(seed: int) -> None:
    heavy = CALM + 0.05 * np.random.default_rng(seed).standard_t(2.5, 600)
    assert alarms(run(loss=heavy, lr=LR, events=SEAM)) == []


def test_a_seam_in_a_negative_loss_is_read_the_same_way() -> None:
    assert look(run(loss=HEALS - 10.0, events=SEAM), "loss-jumps-at-resume").state is State.PRESENT
    assert look(run(loss=CALM - 10.0, events=SEAM), "loss-jumps-at-resume").state is State.ABSENT


def test_several_seams_are_one_note() -> None:
    made = run(loss=CALM, lr=LR, events=[event(step, "resume") for step in (100, 200, 300)])
    assert look(made, "resumed").numbers["count"] == 3
    assert names(made).count("resumed") == 1
    assert alarms(made) == []
