"""Which parameters are trained at all."""

from __future__ import annotations

import numpy as np
from support.runs import alarms, falling, level, names, run
from support.trios import Trio, check, check_all, each

from sismo.judge import judge
from sismo.records.types import Run
from sismo.signals.detectors import held


def facts(**known: object) -> Run:
    return run(config={"sismo": known})


def groups(*rows: int, entries: int = 64) -> Run:
    """Groups that were updated so often."""
    more = {f"lr/{number}": np.full(count, 1e-3) for number, count in enumerate(rows) if count}
    return run(loss=falling(400), more=more, config={"sismo": {"groups": [{"lr": 1e-3, "entries": entries} for _ in rows]}})


def stuck(frozen: list[str], loss: object = None, **known: object) -> Run:
    """A classifier that stays at the guess."""
    seen = {"target/classes": {0: 10.0}}
    flat = level(400, float(np.log(10)), 0.003)
    return run(loss=flat if loss is None else loss, more=seen, config={"sismo": {"frozen": frozen, "unheld": [], **known}})  # type: ignore[arg-type]


TRIOS = {
    "weights-unheld": Trio(facts(unheld=["blocks.0.weight"]), facts(unheld=[]), run()),
    "weights-frozen": Trio(facts(frozen=["blocks.0.weight"]), facts(frozen=[]), run(config={"sismo": {"frozen": "all"}})),
    "stuck-with-frozen-weights": Trio(stuck(["a.weight"]), stuck([]), run(loss=falling(400))),
    "group-never-stepped": Trio(groups(0, 100), groups(100, 20), groups(0, 10)),
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


def test_an_optimizer_that_is_never_stepped_is_named_and_one_that_steps_seldom_is_none() -> None:
    assert alarms(groups(0, 250)) == ["parameter-not-in-optimizer"]
    assert alarms(groups(50, 250)) == alarms(groups(250)) == alarms(groups(0, 250, entries=0)) == []


def test_what_is_not_trained_comes_before_what_is_not_learnt() -> None:
    """A layer that is frozen by itself, or held by nobody; an adapter leaves most of its model frozen and may fail of anything."""
    assert alarms(stuck(["conv1.weight"], parameters=1000, trained=900))[0] == "frozen-by-mistake"
    assert alarms(stuck([], unheld=["conv1.weight"]))[0] == "parameter-not-in-optimizer"
    assert alarms(stuck(["base.weight"], parameters=1000, trained=100))[0] == "no-learning"
    assert "frozen-by-mistake" not in alarms(stuck(["conv1.weight"], falling(400), parameters=1000, trained=900))
    assert "no-learning" in names(stuck([]))
