"""Which parameters are trained at all."""

from __future__ import annotations

from support.runs import run
from support.trios import Trio, check, check_all, each

from sismo.records.types import Run
from sismo.signals.detectors import held


def facts(**known: object) -> Run:
    return run(config={"sismo": known})


TRIOS = {
    "weights-unheld": Trio(facts(unheld=["blocks.0.weight"]), facts(unheld=[]), run()),
    "weights-frozen": Trio(facts(frozen=["blocks.0.weight"]), facts(frozen=[]), run(config={"sismo": {"frozen": "all"}})),
    "weights-fp32": Trio(run(dtype="bf16", config={"sismo": {"weights_dtype": "fp32"}}), facts(weights_dtype="bf16"), run(dtype="bf16")),
}


def test_every_signal_of_the_file_is_tried() -> None:
    check_all(held, TRIOS)


@each(TRIOS)
def test_fires_stays_silent_and_does_not_know(signal: str, trio: Trio) -> None:
    check(signal, trio)
