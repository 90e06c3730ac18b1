"""What the first steps do where the LR starts at its peak."""

from __future__ import annotations

import numpy as np
import pytest
from support.runs import falling, level, look, run, with_at
from support.trios import Trio, check, check_all, each

from sismo.judge import judge
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


def test_a_norm_that_only_comes_down_with_a_loss_without_noise_was_not_thrown() -> None:
    loss = np.exp(-np.arange(400) / 20)
    norm = 0.25 * np.maximum(loss, 1e-3)
    norm[3] = 0.44
    norm[4:25] *= 0.4
    assert look(run(loss=loss, norm=norm), "norm-spikes-early").state is State.ABSENT
    assert look(run(loss=with_at(loss, 3, 1.1), norm=norm), "norm-spikes-early").state is State.PRESENT
