"""Two channels together."""

from __future__ import annotations

import numpy as np
import pytest
from support.runs import alarms, falling, level, look, names, run, state, with_at
from support.trios import Trio, check, check_all, each

from sismo.judge import judge
from sismo.records.types import RECORDED, Header, Run
from sismo.signals.detectors import compound
from sismo.signals.types import State

NAN = float("nan")
STEP = np.arange(400)
CALM, NORM = falling(400), level(400, 1.0, 0.1)
RISES = np.concatenate([falling(200), np.linspace(2, 3, 200)])
TURNS = np.concatenate([falling(200), np.linspace(2, 30, 200)])
LOST = np.where(STEP < 300, CALM, NAN)
UP = np.linspace(0, 1e-3, 400)
GROWS = np.where((STEP >= 297) & (STEP < 300), 9.0, LOST)
EVALS = np.arange(20, 401, 20)
EXPLODES = {**{int(step): 3.0 for step in EVALS}, 300: 30.0}
DEEP = np.geomspace(10.0, 1e-3, 400)
LATE = np.arange(1, 41) * 10

TRIOS = {
    "loss-falls": Trio(run(loss=CALM), run(loss=level(400)), run(loss=CALM[:2])),
    "val-falls-while-loss-rises": Trio(
        run(loss=RISES, val=(EVALS, np.linspace(3, 2, 20))), run(loss=RISES, val=(EVALS, np.linspace(2, 3, 20))), run(loss=RISES)
    ),
    "fp16-norm-nonfinite": Trio(
        run(norm=with_at(NORM, 9, NAN), dtype="fp16"), run(norm=with_at(NORM, 9, NAN), dtype="fp32"), run(norm=with_at(NORM, 9, NAN))
    ),
    "fp16-loss-nonfinite": Trio(run(loss=LOST, dtype="fp16"), run(loss=LOST, dtype="bf16"), run(loss=LOST)),
    "loss-falls-to-the-end": Trio(run(loss=np.linspace(6, 1, 400)), run(loss=CALM), run(loss=CALM[:30])),
    "runup-as-lr-rises": Trio(run(loss=GROWS, lr=UP), run(loss=GROWS, lr=np.full(400, 1e-3)), run(loss=GROWS)),
    "diverges-as-lr-rises": Trio(
        run(loss=TURNS, lr=UP, norm=np.geomspace(0.1, 90, 400)), run(loss=TURNS, lr=UP, norm=NORM), run(loss=TURNS, lr=UP)
    ),
    "lost-late-at-lr-over-one": Trio(
        run(loss=(LATE, np.full(40, NAN)), lr=(LATE, np.full(40, 20.0))),
        run(loss=(LATE, np.full(40, NAN)), lr=(LATE, np.full(40, 0.1))),
        run(loss=(LATE, np.full(40, NAN))),
    ),
    "val-explodes-as-lr-rises": Trio(
        run(val=EXPLODES, lr=UP, norm=with_at(NORM, 300, 50.0)), run(val=EXPLODES, lr=UP, norm=NORM), run(val=EXPLODES, lr=UP)
    ),
    "language-loss-near-zero": Trio(run(loss=DEEP, vocab_size=512), run(loss=CALM, vocab_size=512), run(loss=DEEP[:4])),
    "language-train-and-val-near-zero": Trio(
        run(loss=DEEP, val=(EVALS, np.geomspace(10, 1e-3, 20)), vocab_size=512),
        run(loss=DEEP, val=(EVALS, np.full(20, 3.0)), vocab_size=512),
        run(loss=DEEP),
    ),
    "lost-in-first-steps": Trio(run(norm=with_at(NORM, 2, NAN)), run(norm=with_at(NORM, 9, NAN)), run(loss=CALM)),
    "eval-of-boxes": Trio(run(more={"loss_term/box_loss": CALM}), run(more={"loss_term/kl": CALM}), None),
    "gradient-lost-at-first-step": Trio(
        run(loss=with_at(np.full(40, NAN), 0, 2.0), norm=np.full(40, NAN), dtype="fp32"),
        run(loss=CALM, norm=with_at(NORM, 0, NAN), dtype="fp32"),
        run(loss=with_at(np.full(40, NAN), 0, 2.0), norm=np.full(40, NAN)),
    ),
    "batch-of-one": Trio(run(config={"batch_size": 1}), run(config={"batch_size": 8}), run()),
}


def test_every_signal_of_the_file_is_tried() -> None:
    check_all(compound, TRIOS)


@each(TRIOS)
def test_fires_stays_silent_and_does_not_know(signal: str, trio: Trio) -> None:
    check(signal, trio)


def test_a_language_model_with_a_high_validation_loss_memorises() -> None:
    """Training at 0.001 nat and validation at 3: the mask is not what is wrong."""
    made = run(loss=DEEP, val=(EVALS, np.full(20, 3.0)), vocab_size=512)
    assert state(made, "language-loss-near-zero") is State.ABSENT
    assert "causal-mask-broken" not in names(made)


def test_a_loss_that_is_lost_at_a_tiny_rate_is_not_blamed_on_it() -> None:
    made = run(loss=GROWS, lr=np.full(400, 1e-8), norm=NORM)
    assert "lr-too-high" not in names(made)


def test_a_short_log_that_is_lost_on_the_way_up_is_blamed_on_the_rate_and_without_it_is_not() -> None:
    loss, rate = [2.1, 2.0, 2.05, 2.0, 2.1, 4.4, NAN, NAN], np.linspace(2e-3, 4e-3, 8)
    assert alarms(run(loss=loss, lr=rate, every=50))[0] == "lr-too-high"
    assert alarms(run(loss=loss, lr=np.full(8, 2e-3), every=50))[0] == "exploding-gradients"


def test_a_leap_at_a_rate_that_moves_nothing_is_not_blamed_on_it() -> None:
    loss = [2.3, 10.9, 10.8, 10.8, 10.7, 10.7]
    assert "lr-too-high" in names(run(loss=loss, lr=np.linspace(1e-4, 6e-4, 6)))
    assert "lr-too-high" not in names(run(loss=loss, lr=np.linspace(1e-9, 6e-9, 6)))


def test_a_low_noise_fall_counts_and_a_high_noise_level_does_not() -> None:
    assert state(run(loss=np.linspace(2.0, 1.8, 200)), "loss-falls") is State.PRESENT
    fooled = [seed for seed in range(20) if state(run(loss=level(300, 2.0, 0.5, seed)), "loss-falls") is State.PRESENT]
    assert fooled == []


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_divergence_as_the_rate_climbs_is_named(rows: int) -> None:
    loss = np.where((STEP >= 300 - rows) & (STEP < 300), 9.0, LOST)
    made = run(loss=loss, norm=np.where(STEP < 290, NORM, np.where(STEP < 300, NORM * 2.0 ** (STEP - 289.0), NAN)), lr=UP)
    assert set(alarms(made)[:2]) & {"lr-too-high", "exploding-gradients"}
    assert look(made, "norm-runup").state is State.PRESENT


def test_a_recorded_model_without_a_vocabulary_is_no_language_model_whatever_its_first_loss() -> None:
    shown = {"loss": np.geomspace(7.0, 0.01, 400), "val": (EVALS, np.geomspace(5, 0.01, 20))}
    known = Run("made", Header(source=RECORDED), run(**shown).series, ())
    assert "causal-mask-broken" in alarms(run(**shown))
    assert not alarms(known)


def test_a_thousand_classes_that_are_learnt_exactly_begin_as_high_as_text() -> None:
    loss = np.geomspace(6.93, 0.05, 400)
    val = (EVALS, loss[EVALS - 1])
    unsure = judge(run(loss=loss, val=val)).findings[0]
    assert (unsure.cause.id, unsure.confidence < 0.6) == ("causal-mask-broken", True)
    assert judge(run(loss=loss, val=val, vocab_size=1024)).findings[0].confidence > 0.7
