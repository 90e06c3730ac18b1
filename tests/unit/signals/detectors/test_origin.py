"""Where in a recorded step the first number that is not finite stands."""

from __future__ import annotations

import numpy as np
from support.runs import falling, run
from support.trios import Trio, check, check_all, each

from sismo.records.types import Run
from sismo.signals.detectors import origin

NAN = float("nan")
LOST = np.where(np.arange(400) < 300, falling(400), NAN)


def recorded(family: str, first: float, second: float) -> Run:
    """Two layers, looked at in step 300, in which the loss is lost, and fine before."""
    return run(loss=LOST, more={f"{family}/a": {200: 1.0, 300: first}, f"{family}/b": {200: 1.0, 300: second}})


TRIOS = {
    "activation-nonfinite-with-loss": Trio(
        run(loss=LOST, more={"act_nonfinite/a": {200: 0.0, 300: 64.0}}),
        run(loss=LOST, more={"act_nonfinite/a": {200: 0.0, 300: 0.0}}),
        run(loss=LOST, more={"act_nonfinite/a": {200: 0.0}}),
    ),
    "weight-nonfinite-first": Trio(recorded("spectral", NAN, 2.0), recorded("spectral", NAN, NAN), run(loss=LOST)),
}


def test_every_signal_of_the_file_is_tried() -> None:
    check_all(origin, TRIOS)


@each(TRIOS)
def test_fires_stays_silent_and_does_not_know(signal: str, trio: Trio) -> None:
    check(signal, trio)
