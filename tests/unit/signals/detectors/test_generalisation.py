"""What the validation loss says beside the training loss."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.runs import alarms, falling, level, look, names, run, state
from support.trios import Trio, check, check_all, each

import sismo
from sismo.judge import diagnose
from sismo.signals.detectors import generalisation
from sismo.signals.types import State

NAN = float("nan")
CALM = falling(400)
EVALS = np.arange(20, 401, 20)
FALLS = (EVALS, 2.3 + np.exp(-EVALS / 80.0))
RISES = (EVALS, 2.3 + np.exp(-EVALS / 40.0) + np.maximum(0, EVALS - 200) * 0.005)
HARDER = run(loss=np.linspace(2, 3, 400) + level(400, 0.0), val=(EVALS, np.linspace(3, 2, 20)))
NO_VAL, NO_LOSS = run(loss=CALM), run(val=FALLS)
TINY = np.geomspace(6.0, 1e-3, 400)
BOTH_TINY = run(loss=TINY, val=(EVALS, np.geomspace(6.0, 1e-3, 20)))
SUM = run(loss=8 * CALM, val=(EVALS, CALM[EVALS - 1]), accumulation=8)

TRIOS = {
    "val-rises-after-minimum": Trio(run(loss=np.linspace(6, 0.5, 400), val=RISES), run(loss=CALM, val=FALLS), NO_VAL),
    "val-rises-clearly": Trio(run(loss=np.linspace(6, 0.5, 400), val=RISES), run(loss=CALM, val=FALLS), NO_VAL),
    "val-falls-while-train-rises": Trio(HARDER, run(loss=CALM, val=FALLS), NO_VAL),
    "val-still-improves": Trio(run(val=(EVALS, np.linspace(3, 2, 20))), run(val=RISES), NO_VAL),
    "val-flat": Trio(run(val=(EVALS, np.full(20, 2.0))), run(val=(EVALS, np.linspace(3, 2, 20))), NO_VAL),
    "val-nonfinite-throughout": Trio(run(loss=CALM, val=(EVALS, np.full(20, NAN))), run(loss=CALM, val=FALLS), NO_VAL),
    "val-nonfinite-briefly": Trio(run(loss=CALM, val={20: NAN, 40: 2.0, 60: 2.0}), run(loss=CALM, val=FALLS), NO_VAL),
    "train-multiple-of-val": Trio(SUM, run(loss=CALM, val=FALLS), NO_VAL),
    "ratio-is-accumulation": Trio(SUM, run(loss=8 * CALM, val=(EVALS, CALM[EVALS - 1]), accumulation=2), run(loss=CALM, val=FALLS)),
    "val-below-train": Trio(run(loss=1.5 * CALM, val=(EVALS, CALM[EVALS - 1])), run(loss=CALM, val=FALLS), NO_VAL),
    "train-and-val-near-zero": Trio(BOTH_TINY, run(loss=TINY, val=FALLS), NO_VAL),
    "train-and-val-vanish": Trio(BOTH_TINY, run(loss=TINY, val=FALLS), NO_VAL),
    "losses-vanish-without-text": Trio(BOTH_TINY, run(loss=TINY, val=(EVALS, np.geomspace(6.0, 1e-3, 20)), vocab_size=512), NO_VAL),
    "train-near-zero": Trio(run(loss=TINY), run(loss=CALM), run(loss=TINY[:4])),
    "no-validation": Trio(NO_VAL, run(loss=CALM, val=FALLS), None),
    "many-epochs": Trio(run(more={"epoch": np.linspace(0, 9, 50)}), run(more={"epoch": np.linspace(0, 3, 50)}), NO_VAL),
}


def test_every_signal_of_the_file_is_tried() -> None:
    check_all(generalisation, TRIOS)


@each(TRIOS)
def test_fires_stays_silent_and_does_not_know(signal: str, trio: Trio) -> None:
    check(signal, trio)


def test_what_is_left_of_the_squares_of_large_numbers_is_not_nothing() -> None:
    """Prices learnt to 5 % leave a thousandth of their squares, and nothing is seen that should not be."""
    for scale, vanishes in ((1e9, False), (1.0, True)):
        made = run(loss=scale * TINY, val=(EVALS, scale * np.geomspace(6.0, 1e-3, 20)))
        assert state(made, "train-and-val-vanish") is (State.PRESENT if vanishes else State.ABSENT)


def test_a_rise_of_the_validation_loss_alone_does_not_say_whether_training_went_on_falling() -> None:
    assert state(run(val=RISES), "val-rises-after-minimum") is State.UNKNOWN


def test_overfitting_is_told_from_divergence() -> None:
    overfits = run(loss=np.linspace(6, 0.5, 400), val=RISES)
    diverges = run(loss=np.concatenate([falling(200), np.linspace(2, 4, 200)]), val=RISES)
    assert names(overfits)[0] == "overfitting"
    assert "overfitting" not in names(diverges)
    assert look(overfits, "val-rises-after-minimum").start == 200


def test_a_rise_under_ten_percent_is_a_note_and_over_it_a_warning() -> None:
    for factor, alarmed in ((0.05, False), (0.3, True)):
        val = (EVALS, np.concatenate([np.linspace(3, 2, 10), np.linspace(2, 2 * (1 + factor), 10)]))
        made = run(loss=np.linspace(6, 0.5, 400), val=val)
        assert "overfitting" in names(made)
        assert ("overfitting" in alarms(made)) is alarmed


@pytest.mark.parametrize("seed", range(10))
def test_a_validation_loss_that_is_only_noisy_is_not_overfitting(seed: int) -> None:
    val = (EVALS, 2.0 + 0.1 * np.random.default_rng(seed).standard_normal(20))
    assert alarms(run(loss=np.linspace(3, 1.8, 400) + level(400, 0.0, 0.03, seed), val=val)) == []


def test_five_noisy_evaluations_are_not_overfitting() -> None:
    evals = np.array([80, 160, 240, 320, 400])
    fooled = 0
    for seed in range(60):
        val = (evals, 2.0 + 0.05 * np.random.default_rng(seed).standard_normal(5))
        made = run(loss=np.linspace(3, 1.8, 401) + level(401, 0.0, 0.03, seed), val=val)
        fooled += state(made, "val-rises-after-minimum") is State.PRESENT
    assert fooled <= 6


@pytest.mark.parametrize("gap", [1.1, 1.3, 1.6])
def test_the_gap_that_dropout_makes_is_no_alarm(gap: float) -> None:
    """With dropout on, training data look worse than validation data for the same weights."""
    made = run(loss=gap * CALM, val=(EVALS, CALM[EVALS - 1]))
    assert alarms(made) == []


def test_one_nan_evaluation_is_not_a_lost_evaluation() -> None:
    made = run(loss=CALM, val={**dict(zip(EVALS.tolist(), FALLS[1].tolist(), strict=True)), 20: NAN})
    assert alarms(made) == []


def test_an_evaluation_that_is_nan_throughout_is_no_clean_bill() -> None:
    document = sismo.diagnose(run(loss=CALM, val=(EVALS, np.full(20, NAN))))
    assert document.healthy is False
    assert {cause.id for cause in document.causes} & {"eval-nonfinite", "all-labels-masked"}


def test_a_sum_where_a_mean_was_meant() -> None:
    assert names(SUM)[0] == "accumulation-not-averaged"
    assert NO_LOSS.get("loss/train") is None
    assert state(NO_LOSS, "train-multiple-of-val") is State.UNKNOWN


def test_images_that_are_mixed_up_in_training_only_make_its_loss_larger() -> None:
    step = np.arange(60)
    loss, val = 3.1 - 0.002 * step, 0.92 - 0.0005 * step
    assert alarms(run(loss=loss, val=val))[0] == "accumulation-not-averaged"
    assert alarms(run(loss=loss, val=val, more={"metric/test_acc1": 78 + 0.01 * step})) == []


@pytest.mark.parametrize(("start", "more"), [(2.4, {}), (3.2, {}), (4.6, {}), (6.2, {}), (2.4, {"metric/acc": np.linspace(0, 1, 400)})])
def test_a_task_with_one_right_answer_is_not_said_to_see_the_future(start: float, more: dict[str, np.ndarray]) -> None:
    """Copying a sequence ends at 0 on both sides and nothing in the log tells it from a leak: one check decides."""
    solved = run(loss=np.geomspace(start, 1e-3, 400), val=(EVALS, np.geomspace(start, 1e-3, 20)), more=more)
    leading = diagnose(solved).causes[0]
    assert (leading.id, leading.confidence < 0.5, leading.twins) == ("target-in-input", True, ("causal-mask-broken",))


@pytest.mark.parametrize("known", [{"vocab_size": 512}, {"more": {"metric/tokens_per_second": np.full(400, 9e4)}}])
def test_where_it_is_text_the_same_losses_are_the_future(known: dict[str, Any]) -> None:
    text = run(loss=np.geomspace(6.2, 1e-3, 400), val=(EVALS, np.geomspace(6.2, 1e-3, 20)), **known)
    leading = diagnose(text).causes[0]
    assert (leading.id, leading.confidence >= 0.6) == ("causal-mask-broken", True)


def test_a_model_that_sees_the_future_is_told_from_one_that_memorises() -> None:
    future = run(loss=TINY, val=(EVALS, np.geomspace(6.0, 1e-3, 20)), vocab_size=512)
    memory = run(loss=TINY, val=RISES, vocab_size=512)
    assert "causal-mask-broken" in alarms(future)
    assert "causal-mask-broken" not in names(memory)


@pytest.mark.parametrize("rows", [15, 30, 80])
@pytest.mark.parametrize("training", [0.13, 0.6])
def test_a_noisy_validation_loss_that_stands_is_no_overfitting(rows: int, training: float) -> None:
    """8 % of noise from one evaluation to the next: the lowest of them is low by luck, however far training falls."""
    epochs = np.arange(rows)
    named = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        val = 0.75 * (1 + 0.08 * rng.standard_normal(rows))
        named += "overfitting" in names(run(loss=training + 0.3 * np.exp(-4.0 * epochs / rows), val=val))
    assert named <= 2


def test_smoothed_labels_keep_the_training_loss_up_and_are_no_sum() -> None:
    """Ten percent of four classes: 0.35 nats that no model gets under, beside a validation loss of true labels."""
    smoothed = 0.35 + 1.05 * np.exp(-np.arange(400) / 15)
    val = (np.arange(49, 400, 50), np.geomspace(0.12, 0.09, 8))
    counted = {"target/classes": (np.arange(0, 400, 50), np.full(8, 4.0))}
    assert "accumulation-not-averaged" not in names(run(loss=smoothed, val=val))
    assert "accumulation-not-averaged" not in names(run(loss=smoothed, val=val, more=counted))
    assert "accumulation-not-averaged" in names(run(loss=8 * smoothed, val=val, more=counted))


def test_a_sum_that_is_learnt_from_a_guess_on_is_a_multiple_whether_or_not_it_falls_far() -> None:
    fall = np.exp(-np.arange(400) / 15)
    for start, end in ((2.3, 0.4), (2.1, 1.9), (0.5, 0.45)):
        train = 4 * (end + (start - end) * fall)
        val = (np.arange(49, 400, 50), np.geomspace(1.1 * end, end, 8))
        assert "accumulation-not-averaged" in names(run(loss=train, val=val))


def test_mixed_examples_that_are_learnt_over_whole_ones_that_are_easy_are_no_overfitting() -> None:
    """The model gets less sure of what it knows; a loss that is a multiple all along hides nothing."""
    mixed = 0.6 + 1.8 * np.exp(-np.arange(400) / 80) + level(400, 0.0, 0.05)
    unsure = (EVALS, np.linspace(0.045, 0.083, EVALS.size))
    assert alarms(run(loss=mixed, val=unsure)) == []
    assert alarms(run(loss=mixed, val=unsure, vocab_size=10)) == []
    assert "overfitting" in alarms(run(loss=mixed, val=(EVALS, np.linspace(0.7, 1.1, EVALS.size))))
    summed = 8 * np.linspace(6, 0.5, 400)
    assert "overfitting" in alarms(run(loss=summed, val=RISES))
