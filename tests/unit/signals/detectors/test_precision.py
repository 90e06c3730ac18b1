"""Half precision: overflows, the scaler, and norms that are a scale."""

from __future__ import annotations

import numpy as np
import pytest
from support.runs import alarms, cosine, event, falling, level, look, names, run, state, with_at
from support.trios import Trio, check, check_all, each

import sismo
from sismo.signals.detectors import precision
from sismo.signals.types import State

NAN, INF = float("nan"), float("inf")
CALM, NORM = falling(400), level(400, 1.0, 0.1)
STEADY = np.full(400, 65536.0)
DOUBLES = 2.0 ** (12 + np.arange(400) // 100)
COLLAPSE = 65536.0 / 2.0 ** np.maximum(0, np.minimum(np.arange(400) - 300, 30))
NO_SCALE = run(loss=CALM)
FLAT, HUGE = level(400, 3.0, 0.02), level(400, 5e4, 5e3)
SEARCH = 65536.0 / 2.0 ** np.minimum(np.arange(400), 4)
ALL_SKIPPED = [event(step, "overflow", scale_before=2.0 ** (16 - step), scale_after=2.0 ** (15 - step)) for step in range(40)]
ROWS = np.arange(100, 700, 100)
SMOOTH, SHRINKS = np.linspace(9.0, 7.0, 6), 0.25 / 2.0 ** np.arange(6)
SELDOM = [event(step, "overflow", scale_before=25.0 / step, scale_after=12.5 / step) for step in range(150, 600, 100)]

TRIOS = {
    "grad-norm-nonfinite": Trio(run(norm=with_at(NORM, 9, INF)), run(norm=NORM), NO_SCALE),
    "grad-norm-nonfinite-now-and-then": Trio(
        run(loss=CALM, norm=with_at(NORM, 90, NAN)), run(loss=CALM, norm=np.where(np.arange(400) % 5, NORM, NAN)), NO_SCALE
    ),
    "loss-scale-collapsed": Trio(run(scale=COLLAPSE), run(scale=SEARCH), NO_SCALE),
    "loss-scale-under-one": Trio(run(scale=COLLAPSE), run(scale=DOUBLES), NO_SCALE),
    "steps-go-on-under-overflow": Trio(
        run(loss=(ROWS, SMOOTH), scale=(ROWS, SHRINKS), events=SELDOM),
        run(loss=(ROWS, SMOOTH[::-1]), scale=(ROWS, SHRINKS), events=SELDOM),
        run(scale=(ROWS, SHRINKS), events=SELDOM),
    ),
    "loss-scale-constant": Trio(run(scale=STEADY), run(scale=DOUBLES), NO_SCALE),
    "overflow": Trio(run(loss=CALM, events=[event(3, "overflow")]), run(scale=DOUBLES), NO_SCALE),
    "overflow-often": Trio(
        run(loss=CALM, events=[event(step, "overflow") for step in range(50, 400, 10)]),
        run(loss=CALM, events=[event(3, "overflow")]),
        NO_SCALE,
    ),
    "overflow-at-every-step": Trio(run(events=ALL_SKIPPED), run(loss=CALM, events=[event(3, "overflow")]), NO_SCALE),
    "overflow-only-startup": Trio(run(loss=CALM, scale=SEARCH), run(loss=CALM, scale=COLLAPSE), NO_SCALE),
    "loss-scale-ignores-overflow": Trio(
        run(scale=STEADY, norm=with_at(NORM, 50, INF, INF)), run(scale=SEARCH, norm=with_at(NORM, 1, INF, INF)), NO_SCALE
    ),
    "norm-is-the-loss-scale": Trio(run(norm=np.full(400, 65536.0)), run(norm=level(400, 5e4, 5e3)), NO_SCALE),
    "norm-thousands-over-clip": Trio(
        run(loss=FLAT, norm=HUGE, more={"grad_norm/post": np.ones(400)}),
        run(loss=CALM, norm=HUGE, more={"grad_norm/post": np.ones(400)}),
        run(loss=FLAT, norm=HUGE),
    ),
    "clip-bounds-scaled-norm": Trio(
        run(loss=CALM, scale=STEADY, norm=NORM, more={"grad_norm/post": 1.0 / STEADY}, clip=1.0),
        run(loss=CALM, scale=STEADY, norm=NORM, more={"grad_norm/post": np.ones(STEADY.size)}, clip=1.0),
        run(loss=CALM, norm=NORM, more={"grad_norm/post": np.ones(400)}),
    ),
    "loss-leaps-for-one-row": Trio(run(loss=with_at(CALM, 90, 1e5)), run(loss=with_at(CALM, 90, 50.0)), run(loss=[2.0])),
}


def test_a_scale_that_shrinks_while_steps_are_applied_is_a_collapse_with_doubt() -> None:
    go_on, every = run(loss=(ROWS, SMOOTH), scale=(ROWS, SHRINKS), events=SELDOM), [event(step, "overflow") for step in range(100, 600)]
    (first, *_) = sismo.diagnose(go_on).causes
    assert first.id == "loss-scale-collapse"
    assert first.confidence < 0.6
    stuck = sismo.diagnose(run(loss=(ROWS, np.full(6, 9.0)), scale=(ROWS, SHRINKS), events=every)).causes[0]
    assert stuck.id == "loss-scale-collapse"
    assert stuck.confidence > 0.75


@pytest.mark.parametrize("loss", [np.array([9.0, 8.9, 8.95, 8.9, 8.85, 8.8]), np.linspace(9.0, 8.8, 6)])
def test_a_loss_that_hardly_falls_does_not_say_that_steps_are_applied(loss: np.ndarray) -> None:
    assert state(run(loss=(ROWS, loss), scale=(ROWS, SHRINKS), events=SELDOM), "steps-go-on-under-overflow") is State.ABSENT


def test_every_signal_of_the_file_is_tried() -> None:
    check_all(precision, TRIOS)


@each(TRIOS)
def test_fires_stays_silent_and_does_not_know(signal: str, trio: Trio) -> None:
    check(signal, trio)


def test_a_clip_that_leaves_nothing_of_a_scaled_gradient_is_seen_without_the_scale() -> None:
    clipped = {"grad_norm/post": np.ones(400)}
    assert names(run(loss=FLAT, norm=HUGE, more=clipped))[0] == "clip-before-unscale"
    assert names(run(loss=FLAT, norm=HUGE, clip=1.0, dtype="fp16"))[0] == "clip-before-unscale"
    assert "clip-before-unscale" not in names(run(loss=FLAT, norm=HUGE, more=clipped, dtype="bf16")), "nothing is scaled in bf16"
    assert "clip-before-unscale" not in names(run(loss=FLAT, norm=NORM, more=clipped)), "an ordinary norm"


def test_norms_of_the_size_of_a_scale_that_they_follow_are_scaled() -> None:
    """Clipped before they were unscaled: the norm need not be a power of two."""
    norm, flat = np.exp(level(400, np.log(0.4), 0.3)), level(400, 3.0, 0.02)
    stuck = run(loss=flat, scale=DOUBLES, norm=norm * DOUBLES)
    assert names(stuck)[0] == "clip-before-unscale"
    assert names(run(loss=flat, scale=STEADY, norm=norm * STEADY))[0] == "clip-before-unscale"
    assert state(run(loss=flat, scale=DOUBLES, norm=norm * 8000), "norm-is-the-loss-scale") is State.ABSENT
    assert state(run(loss=flat, scale=STEADY, norm=norm), "norm-is-the-loss-scale") is State.ABSENT
    trains = run(loss=CALM, scale=DOUBLES, norm=norm * DOUBLES)  # only the logged norm is scaled
    assert alarms(trains) == []
    assert "scaled-grad-norm" in names(trains)


@pytest.mark.parametrize("start", [16, 24, 32])
def test_a_scaler_that_looks_for_its_level_is_no_collapse(start: int) -> None:
    """2^32 has to come down some twenty times: every step of that is skipped, and it means nothing."""
    scale = 2.0 ** (start - np.minimum(np.arange(400), start - 12))
    made = run(loss=CALM, scale=scale, norm=np.where(np.arange(400) < start - 12, INF, NORM), dtype="fp16")
    assert state(made, "loss-scale-collapsed") is State.ABSENT
    assert alarms(made) == []


@pytest.mark.parametrize("skips", [0, 1])
def test_a_count_of_skipped_steps_that_stays_0_is_no_scaler(skips: int) -> None:
    """Megatron and DeepSpeed print it in every precision: an abrupt NaN under it is as open as without."""
    lost = np.where(np.arange(400) < 300, falling(400), np.nan)
    counted = {"skipped": np.where(np.arange(400) == 200, float(skips), 0.0)}
    made = run(loss=lost, norm=np.where(np.arange(400) < 300, level(400, 1.0, 0.1), np.nan), lr=cosine(400), more=counted)
    assert (state(made, "scaler-used") is State.PRESENT) == bool(skips)
    assert (names(made)[0] == "log-of-zero") == (not skips)


@pytest.mark.parametrize("value", [-1.0, 0.0, 1.0])
def test_a_placeholder_is_no_scale(value: float) -> None:
    made = run(loss=CALM, norm=with_at(NORM, 3, NAN), scale=np.full(400, value))
    for signal in ("loss-scale-collapsed", "loss-scale-under-one", "loss-scale-constant", "loss-scale-ignores-overflow"):
        assert state(made, signal) is State.ABSENT, signal
    assert "loss-scale-frozen" not in names(made)


def test_a_collapse_is_placed_where_it_begins() -> None:
    made = run(loss=CALM, scale=COLLAPSE, dtype="fp16")
    assert look(made, "loss-scale-collapsed").start == 301
    assert names(made)[0] == "loss-scale-collapse"


def test_a_scale_that_stands_still_through_overflows_is_off() -> None:
    made = run(loss=CALM, scale=STEADY, norm=with_at(NORM, 50, INF, INF, INF), dtype="fp16")
    assert "loss-scale-frozen" in alarms(made)


def test_the_same_in_bf16_is_not_the_scaler() -> None:
    made = run(loss=CALM, scale=STEADY, norm=with_at(NORM, 50, INF, INF, INF), dtype="bf16")
    assert "loss-scale-frozen" not in names(made)


@pytest.mark.parametrize("norm", [np.full(400, 1e308), np.full(400, 1.5e308), 2.0**1000 * np.ones(400)])
def test_a_huge_norm_is_measured_without_an_error(norm: np.ndarray) -> None:
    assert state(run(norm=norm), "norm-is-the-loss-scale") is State.ABSENT


def test_the_first_halving_in_a_sparse_log_counts_all_its_steps() -> None:
    sparse = run(loss=(np.arange(40) * 100, falling(40)), scale=(np.arange(40) * 100, 2.0 ** (16 - np.maximum(0, np.arange(40) - 30) * 3)))
    assert state(sparse, "loss-scale-collapsed") is State.PRESENT


def test_skipped_steps_of_every_row_are_not_healthy() -> None:
    made = run(loss=level(400, 10.8, 0.01), events=[event(step, "overflow") for step in range(400)], dtype="fp16")
    assert alarms(made)[0] in ("fp16-on-bf16-model", "loss-scale-collapse")
