"""Which parameters are trained at all."""

from __future__ import annotations

from support.runs import falling, run
from support.trios import Trio, check, check_all, each

from sismo.judge import judge
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


def test_what_no_optimizer_holds_is_named_beside_what_is_frozen_on_purpose() -> None:
    frozen = ["0.base.weight", "2.base.weight"]
    for unheld, expected in ((["0.A", "0.B"], ["warning"]), ([], [])):
        made = run(loss=falling(400), config={"sismo": {"unheld": unheld, "frozen": frozen}})
        found = [finding.severity.value for finding in judge(made).findings if finding.cause.id == "parameter-not-in-optimizer"]
        assert found == expected
