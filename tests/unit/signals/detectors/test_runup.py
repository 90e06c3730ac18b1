"""What led up to a failure: growth, or calm."""

from __future__ import annotations

import numpy as np
import pytest
from support.runs import event, falling, level, look, names, run, state, with_at
from support.trios import Trio, check, check_all, each

from sismo.judge import judge
from sismo.signals.detectors import runup
from sismo.signals.types import State

NAN = float("nan")
CALM, NORM = falling(400), level(400, 1.0, 0.1)
LOST = np.where(np.arange(400) < 300, CALM, NAN)
GROWS = np.where((np.arange(400) >= 290) & (np.arange(400) < 300), CALM * 1.3 ** (np.arange(400) - 289.0), LOST)
FINITE_ONCE = run(loss=with_at(np.full(30, NAN), 0, 2.0))
NORM_GROWS = np.where(np.arange(400) >= 290, 2.0 ** np.minimum(np.arange(400) - 289.0, 10), NORM)

TRIOS = {
    "norm-runup": Trio(run(loss=LOST, norm=NORM_GROWS), run(loss=LOST, norm=NORM), run(loss=LOST)),
    "loss-runup": Trio(run(loss=GROWS), run(loss=LOST), run(loss=with_at(np.full(3, NAN), 0, 2.0))),
    "calm-before-nonfinite": Trio(run(loss=LOST, norm=NORM), run(loss=GROWS, norm=NORM), FINITE_ONCE),
    "abrupt-and-forever": Trio(run(loss=LOST, norm=NORM), run(loss=with_at(CALM, 200, NAN), norm=NORM), FINITE_ONCE),
    "abrupt-nan-inputs-unseen": Trio(run(loss=LOST), run(loss=LOST, more={"batch/nonfinite": np.zeros(300)}), FINITE_ONCE),
    "abrupt-nan-weights-unseen": Trio(run(loss=LOST), run(loss=LOST, more={"weight_norm/all": np.ones(300)}), FINITE_ONCE),
    "abrupt-nan-dtype-unseen": Trio(run(loss=LOST), run(loss=LOST, dtype="bf16"), FINITE_ONCE),
}


def test_every_signal_of_the_file_is_tried() -> None:
    check_all(runup, TRIOS)


@each(TRIOS)
def test_fires_stays_silent_and_does_not_know(signal: str, trio: Trio) -> None:
    check(signal, trio)


@pytest.mark.parametrize("signal", list(TRIOS))
def test_without_loss_and_norm_it_does_not_know(signal: str) -> None:
    assert state(run(lr=np.ones(100)), signal) is State.UNKNOWN


def test_an_abrupt_nan_is_open_between_all_that_a_log_cannot_tell_apart() -> None:
    """A loss alone says neither what the batch held, nor the weights, nor the dtype; each that is known closes one."""
    first = judge(run(loss=LOST)).findings[0]
    assert {"sqrt-at-zero", "all-keys-masked", "nonfinite-input", "nonfinite-weight", "fp16-overflow"} == set(first.twins)
    known = judge(run(loss=LOST, dtype="fp32", more={"batch/nonfinite": np.zeros(300), "weight_norm/all": np.ones(300)})).findings[0]
    assert not {"nonfinite-input", "nonfinite-weight", "fp16-overflow"} & set(known.twins)
    assert names(run(loss=LOST, events=[event(299, "probe", origin="found", op="log", where="loss")]))[0] == "log-of-zero"


def test_a_run_that_is_never_lost_has_no_run_up() -> None:
    made = run(loss=np.concatenate([CALM, CALM[-1] * 1.2 ** np.arange(20)]))
    assert state(made, "loss-runup") is State.ABSENT


def test_growth_is_measured_from_the_level_before_it() -> None:
    seen = look(run(loss=GROWS, norm=NORM_GROWS), "norm-runup")
    assert seen.numbers["failure"] == 300
    assert seen.start is not None
    assert 289 <= seen.start <= 294
    assert seen.numbers["growth"] == pytest.approx(1024, rel=0.15)


def test_a_single_high_row_long_before_the_end_is_no_run_up() -> None:
    assert state(run(loss=with_at(LOST, 285, 30.0), norm=NORM), "loss-runup") is State.ABSENT


def test_growth_until_the_loss_is_lost_is_exploding_gradients() -> None:
    assert names(run(loss=GROWS, norm=np.where(np.arange(400) < 300, NORM_GROWS, NAN)))[0] == "exploding-gradients"


def test_a_norm_that_hardly_grew_before_an_overflow_exploded_nothing() -> None:
    """Half as much again for twenty rows stands out from a steady norm, and is far from the tenfold that an explosion takes."""
    drifts = np.where(np.arange(400) >= 278, 1.5, 1.0) * level(400, 1.0, 0.02)
    lost = np.where(np.arange(400) < 300, drifts, float("inf"))
    made = run(loss=LOST, norm=lost, dtype="fp16")
    assert state(made, "norm-runup") is State.ABSENT
    assert "exploding-gradients" not in names(made)
    assert names(made)[0] == "fp16-overflow"


def test_an_excursion_that_was_over_before_the_failure_led_up_to_nothing() -> None:
    made = run(loss=with_at(LOST, 286, 2.0 * CALM[286]), norm=with_at(NORM, 286, 30.0))
    assert state(made, "loss-runup") is State.ABSENT
    assert state(made, "norm-runup") is State.ABSENT
    assert names(made)[0] == "log-of-zero"


def test_a_matrix_that_was_not_looked_at_in_the_lost_step_may_have_gone_bad() -> None:
    looks = np.arange(0, 300, 30)
    turns = run(loss=LOST, norm=NORM, dtype="fp32", more={"spectral/a": (looks, np.ones(10)), "batch/nonfinite": np.zeros(400)})
    finding = judge(turns).findings[0]
    assert (finding.cause.id, finding.twins) == ("log-of-zero", ("nonfinite-weight",))
    watched = run(loss=LOST, norm=NORM, dtype="fp32", more={"spectral/a": np.ones(400)})
    assert "nonfinite-weight" not in names(watched)


@pytest.mark.parametrize("seed", range(10))
def test_what_the_noise_reaches_now_and_then_is_no_run_up(seed: int) -> None:
    rng = np.random.default_rng(seed)
    noisy = 0.3 * rng.gamma(2.0, 0.5, 400)
    noisy[298:300] = np.sort(noisy[230:280])[-2]
    assert state(run(loss=np.where(np.arange(400) < 300, noisy, np.nan)), "loss-runup") is State.ABSENT
