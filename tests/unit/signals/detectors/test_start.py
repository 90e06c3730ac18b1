"""The first rows."""

from __future__ import annotations

import numpy as np
import pytest
from support.runs import alarms, cosine, falling, level, look, names, run, state, with_at
from support.trios import Trio, check, check_all, each

from sismo.judge import judge
from sismo.records.types import RECORDED, Header, Run
from sismo.signals.detectors import start
from sismo.signals.types import State

NAN = float("nan")
GUESS = float(np.log(512))
UNTRAINED, HIGH, LOW = falling(400, start=GUESS), falling(400, start=300.0), falling(400, start=3.0)
NORM = level(400, 1.0, 0.1)
NO_VOCABULARY = run(loss=UNTRAINED)
LATE = np.arange(400) + 5_000

TRIOS = {
    "first-loss-is-a-guess": Trio(run(loss=UNTRAINED, vocab_size=512), run(loss=HIGH, vocab_size=512), NO_VOCABULARY),
    "first-loss-over-guess": Trio(run(loss=HIGH, vocab_size=512), run(loss=UNTRAINED, vocab_size=512), NO_VOCABULARY),
    "first-loss-under-guess": Trio(run(loss=LOW, vocab_size=512), run(loss=UNTRAINED, vocab_size=512), NO_VOCABULARY),
    "first-loss-over-any-guess": Trio(run(loss=HIGH, norm=with_at(NORM, 0, 500.0)), run(loss=HIGH), run(loss=(LATE, HIGH))),
    "first-norm-high": Trio(run(norm=with_at(NORM, 0, 500.0)), run(norm=500 * NORM), run(loss=UNTRAINED)),
    "first-norm-low": Trio(run(norm=1e-6 * NORM), run(norm=NORM), run(loss=UNTRAINED)),
    "first-norm-usual": Trio(run(norm=NORM), run(norm=50 * NORM), run(loss=UNTRAINED)),
    "loss-lost-within-30-steps": Trio(run(loss=with_at(UNTRAINED, 30, NAN)), run(loss=with_at(UNTRAINED, 31, NAN)), run(norm=NORM)),
}


def test_every_signal_of_the_file_is_tried() -> None:
    check_all(start, TRIOS)


@each(TRIOS)
def test_fires_stays_silent_and_does_not_know(signal: str, trio: Trio) -> None:
    check(signal, trio)


@pytest.mark.parametrize(
    ("first", "near", "over", "under"), [(8.0, 0, 1, 0), (7.9, 0, 0, 0), (6.7, 1, 0, 0), (5.7, 0, 0, 0), (3.9, 0, 0, 1)]
)
def test_the_numbers_of_the_document_for_512_tokens(first: float, near: int, over: int, under: int) -> None:
    """8.0 is ln V + 1.76 and broken; 4.0 is ln V − 2.24, so 3.9 is under."""
    made = run(loss=np.linspace(first, first - 1.0, 200), vocab_size=512)
    said = [state(made, f"first-loss-{name}") is State.PRESENT for name in ("is-a-guess", "over-guess", "under-guess")]
    assert said == [bool(near), bool(over), bool(under)]


def test_batches_of_one_may_start_high_by_chance() -> None:
    noisy = falling(400, start=GUESS, noise=0.8)
    assert state(run(loss=with_at(noisy, 0, GUESS + 2.0), vocab_size=512), "first-loss-over-guess") is State.ABSENT
    assert state(run(loss=with_at(UNTRAINED, 0, GUESS + 2.0), vocab_size=512), "first-loss-over-guess") is State.PRESENT


@pytest.mark.parametrize("seed", range(5))
def test_a_sum_over_frames_starts_high_and_is_no_broken_start(seed: int) -> None:
    """CTC: a loss of 60 nats and a norm of 140, both of which fall tenfold as it learns."""
    rng = np.random.default_rng(seed)
    fall = 0.1 + 0.9 * np.exp(-np.arange(400) / 40.0)
    made = run(loss=60 * fall * rng.lognormal(0, 0.1, 400), norm=150 * fall * rng.lognormal(0, 0.3, 400))
    assert alarms(made) == []


def test_the_first_row_of_a_log_that_starts_late_is_no_start() -> None:
    made = run(loss=(LATE, LOW), norm=(LATE, 1e-6 * NORM), vocab_size=512)
    for signal in ("first-loss-under-guess", "first-norm-low"):
        assert state(made, signal) is State.UNKNOWN


def test_an_initialisation_that_is_too_large_comes_first() -> None:
    made = run(loss=HIGH, norm=with_at(NORM, 0, 500.0), lr=cosine(), vocab_size=512)
    assert names(made)[0] == "init-too-large"


def test_a_norm_in_the_millions_all_along_is_only_another_scale() -> None:
    assert alarms(run(loss=UNTRAINED, norm=3e6 * NORM, lr=cosine(), vocab_size=512)) == []


def test_a_first_row_that_is_lost_is_no_high_loss() -> None:
    assert look(run(loss=with_at(UNTRAINED, 0, float("inf")), vocab_size=512), "first-loss-over-guess").state is State.UNKNOWN


def test_a_model_that_was_trained_before_may_begin_over_the_guess() -> None:
    """It is sure of what it learnt elsewhere. What says so is that most of it is frozen."""
    loss = falling(300, start=5.3, end=1.3)
    for known, expected in (({"parameters": 10_000, "trained": 400}, False), ({"parameters": 10_000, "trained": 10_000}, True), ({}, True)):
        made = run(loss=loss, vocab_size=24, config={"sismo": known})
        assert ("head-biased" in names(made)) is expected


def test_large_targets_start_as_high_as_a_bad_initialisation_does() -> None:
    """An error over a width that is learnt: the log cannot tell it, a recorded run that predicts no tokens and no classes can."""
    loss, norm = 3 + 8600 * np.exp(-np.arange(400) / 4), 6 + 30000 * np.exp(-np.arange(400) / 4)
    made = run(loss=loss, norm=norm)
    found = judge(made).findings[0]
    assert (found.cause.id, found.confidence < 0.6) == ("init-too-large", True)
    assert judge(run(loss=loss, norm=norm, more={"metric/perplexity": np.exp(np.minimum(loss, 50))})).findings[0].confidence > 0.7
    assert alarms(Run("made", Header(source=RECORDED), made.series)) == []
