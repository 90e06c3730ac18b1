"""What the first steps do where the LR starts at its peak."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.runs import alarms, falling, level, look, run, with_at
from support.trios import Trio, check, check_all, each

from sismo.judge import judge
from sismo.records.types import RECORDED, Run
from sismo.signals.detectors import early
from sismo.signals.types import State

CALM, NORM = falling(400), level(400, 1.0, 0.05)
V = with_at(CALM, 5, *(CALM[5:25] + 3.0 * np.sin(np.pi * np.arange(20) / 19)))
THROWN = with_at(NORM, 3, 15.0, 12.0)
STANDS = level(400, 3.0, 0.02)
TRIOS = {
    "norm-spikes-early": Trio(run(norm=THROWN), run(norm=with_at(NORM, 0, 15.0)), run(norm=NORM[:20])),
    "loss-v-early": Trio(run(loss=V), run(loss=CALM), run(loss=CALM[:20])),
    "early-throw-healed": Trio(run(loss=CALM, norm=THROWN), run(loss=STANDS, norm=THROWN), run(loss=CALM[:20])),
    "early-throw-never-healed": Trio(run(loss=STANDS, norm=THROWN), run(loss=CALM, norm=THROWN), run(loss=CALM[:20])),
}


def test_every_signal_of_the_file_is_tried() -> None:
    check_all(early, TRIOS)


@each(TRIOS)
def test_fires_stays_silent_and_does_not_know(signal: str, trio: Trio) -> None:
    check(signal, trio)


def test_a_log_that_ends_soon_may_still_get_over_it() -> None:
    assert look(run(loss=STANDS[:100], norm=THROWN[:100]), "early-throw-healed").state is State.PRESENT


@pytest.mark.parametrize(
    ("loss", "lr", "first", "broken"),
    [(CALM, 0.1, "missing-warmup", True), (STANDS, 0.1, "lr-too-high", True), (CALM, 1e-3, "missing-warmup", True)],
)
def test_a_run_that_never_gets_over_its_first_steps_has_too_high_a_rate(loss: np.ndarray, lr: float, first: str, broken: bool) -> None:
    judged = judge(run(loss=loss, norm=THROWN, lr=lr * np.ones(400)))
    assert judged.findings[0].cause.id == first
    assert (judged.findings[0].severity.value == "broken") is broken


@pytest.mark.parametrize(("lr", "sure"), [(1e-3, True), (0.1, True), (1.0, False), (30.0, False)])
def test_a_rate_over_one_is_no_mere_want_of_a_warmup(lr: float, sure: bool) -> None:
    """The run got over it, at a rate that no adaptive optimizer bears: a warmup would only have come there later."""
    warmth = [
        one.confidence for one in judge(run(loss=CALM, norm=THROWN, lr=lr * np.ones(400))).findings if one.cause.id == "missing-warmup"
    ]
    assert (warmth[0] >= 0.6) is sure


def test_a_norm_that_only_comes_down_with_a_loss_without_noise_was_not_thrown() -> None:
    loss = np.exp(-np.arange(400) / 20)
    norm = 0.25 * np.maximum(loss, 1e-3)
    norm[3] = 0.44
    norm[4:25] *= 0.4
    assert look(run(loss=loss, norm=norm), "norm-spikes-early").state is State.ABSENT
    assert look(run(loss=with_at(loss, 3, 1.1), norm=norm), "norm-spikes-early").state is State.PRESENT


def of_65(label: float, spread: float | None) -> Run:
    """A loss of 65 classes that leaps in its first rows, as the norm does, and settles over its start; and what its targets are."""
    steps, looks = np.arange(400), np.arange(0, 400, 40)
    loss = np.where(steps < 2, 0.95, 1.4 + 0.5 * np.exp(-steps / 15)) + 0.03 * np.sin(steps * 1.7)
    norm = np.where(steps < 1, 0.2, 0.2 + 2.6 * np.exp(-steps / 4)) * (1 + 0.05 * np.sin(steps * 2.3))
    seen = {"target/level": (looks, np.full(10, label)), "target/classes": (looks, np.full(10, 65.0))}
    if spread is not None:
        seen["target/spread"] = (looks, np.full(10, spread))
    made = run(loss=loss, norm=norm, lr=np.full(400, 0.1), more=seen)  # type: ignore[arg-type]
    return replace(made, header=made.header._replace(source=RECORDED))


def test_a_contrast_with_a_queue_that_gets_hard_is_healthy_and_labels_that_vary_are_no_contrast() -> None:
    queue = judge(of_65(0.0, None))
    assert queue.healthy is True
    assert "by-design" in {finding.cause.id for finding in queue.findings}
    for label, spread in ((31.0, 64.0), (31.0, None), (0.0, 0.0)):
        assert judge(of_65(label, spread)).healthy is not True


def test_a_loss_that_ends_far_over_its_start_has_not_got_over_it_however_rough_it_is() -> None:
    rng = np.random.default_rng(0)
    loss = np.concatenate([[2.5, 5.0, 15.0, 20.0], 6.5 + 1.2 * rng.standard_normal(396)])
    norm = with_at(level(400, 1.4, 0.3), 3, 42.0, 30.0, 20.0)
    made = run(loss=loss, norm=norm, lr=np.full(400, 1.0))
    assert look(made, "early-throw-never-healed").state is State.PRESENT
    assert look(made, "early-throw-healed").state is not State.PRESENT
    assert judge(made).findings[0].cause.id == "lr-too-high"


def test_where_noise_hides_the_start_neither_is_said() -> None:
    rng = np.random.default_rng(0)
    loss = 2.0 + 0.5 * rng.standard_normal(400)
    made = run(loss=with_at(loss, 0, 2.0), norm=with_at(level(400, 1.4, 0.3), 3, 42.0, 30.0, 20.0), lr=np.full(400, 1.0))
    assert {look(made, f"early-throw-{end}").state for end in ("healed", "never-healed")} == {State.ABSENT}


@pytest.mark.parametrize("seed", range(12))
def test_a_noisy_start_that_falls_far_makes_no_v(seed: int) -> None:
    """Its first rows scatter by 5 %, its later ones by less: what the first climb by is their own noise."""
    step = np.arange(500)
    usual = 2.3 + 43 * np.exp(-np.maximum(step - 40, 0) / 60)
    noise = np.random.default_rng(seed).standard_normal(500) * np.where(step < 50, 0.055, 0.03)
    assert alarms(run(loss=usual * (1 + noise), lr=np.full(500, 1e-3))) == []
