"""Losses that no numbers of half precision lead to."""

from __future__ import annotations

import numpy as np
import pytest
from support.runs import falling, names, run, with_at
from support.trios import Trio, check, check_all, each

from sismo.signals.detectors import beyond

LOSS = falling(400)
TRIOS = {"loss-past-half": Trio(run(loss=with_at(LOSS, 253, 8.8e24)), run(loss=with_at(LOSS, 253, 4e9)), run(lr=LOSS))}


def test_every_signal_of_the_file_is_tried() -> None:
    check_all(beyond, TRIOS)


@each(TRIOS)
def test_fires_stays_silent_and_does_not_know(signal: str, trio: Trio) -> None:
    check(signal, trio)


@pytest.mark.parametrize(("peak", "half"), [(8.8e24, False), (500.0, True)])
def test_a_norm_lost_after_a_loss_of_24_digits_is_no_overflow_of_half_precision(peak: float, half: bool) -> None:
    loss = with_at(LOSS, 300, *np.full(100, np.nan))
    loss[253] = peak
    norm = np.where(np.arange(400) < 298, 1.0, np.inf)
    assert ("fp16-overflow" in names(run(loss=loss, norm=norm))) is half
