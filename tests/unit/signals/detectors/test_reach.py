"""Whether any gradient reaches the blocks of a model."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from support.runs import alarms, falling, level, look, names, run
from support.trios import Trio, check, check_all, each

from sismo.judge import judge
from sismo.records.types import Run
from sismo.signals.detectors import reach
from sismo.signals.types import State

LOOKS = np.arange(0, 400, 20)
CHANCE = level(400, float(np.log(3)), 0.004)


def blocks(sizes: Mapping[str, float], loss: object = CHANCE, **more: object) -> Run:
    seen = {f"grad_norm_group/{name}": (LOOKS, np.full(LOOKS.size, size)) for name, size in sizes.items()}
    return run(loss=loss, more={**seen, **more}, config={"sismo": {"weights_dtype": "fp32"}})  # type: ignore[arg-type]


def weighed(*names: str) -> Run:
    """Blocks whose weights were measured, beside two whose gradient was."""
    more = {f"weight_norm/{name}": (LOOKS, np.linspace(2.0, 2.4, LOOKS.size)) for name in ("0", *names)}
    more |= {f"update_ratio/{name}": (LOOKS, np.full(LOOKS.size, 1e-3)) for name in names}
    return blocks({"dec": 0.1, "out": 0.2}, falling(400), **more)


DEAD = {"i": 0.0, "m.0": 0.0, "m.1": 0.0, "o": 0.1}
FINE = {"i": 1e-7, "m.0": 1e-5, "m.1": 1e-3, "o": 0.1}
NOWHERE = dict.fromkeys(DEAD, 0.0)
TRIOS = {
    "gradient-stops-on-the-way": Trio(blocks(DEAD), blocks(FINE), run(loss=CHANCE)),
    "gradient-never-arrives": Trio(weighed("enc", "dec"), weighed("dec", "out"), run(loss=CHANCE)),
    "gradient-is-nowhere": Trio(blocks(NOWHERE), blocks(DEAD), run(loss=CHANCE)),
}


def test_every_signal_of_the_file_is_tried() -> None:
    check_all(reach, TRIOS)


@each(TRIOS)
def test_fires_stays_silent_and_does_not_know(signal: str, trio: Trio) -> None:
    check(signal, trio)


def test_a_gradient_of_exactly_nothing_is_a_dead_layer_and_what_is_not_learnt_follows_from_it() -> None:
    still = {f"update_ratio/{name}": (LOOKS, np.full(LOOKS.size, 0.0 if name != "o" else 1e-3)) for name in DEAD}
    made = blocks(DEAD, **still)
    first = judge(made).findings[0]
    assert (first.cause.id, first.severity.value) == ("dead-units", "broken")
    alone = [finding.cause.id for finding in judge(made).findings if not finding.consequence_of and finding.severity.rank]
    assert alone == ["dead-units"]


def test_a_gradient_that_is_small_vanishes() -> None:
    assert "dead-units" not in names(blocks(FINE))
    assert "vanishing-gradients" in names(blocks(FINE))


def test_a_gate_that_starts_at_zero_and_an_expert_that_is_never_asked_are_no_dead_model() -> None:
    opens = {f"grad_norm_group/{name}": (LOOKS, np.where(LOOKS == 0, 0.0, 0.1)) for name in "ab"}
    opens["grad_norm_group/o"] = (LOOKS, np.full(LOOKS.size, 0.1))
    assert look(run(more=opens), "gradient-stops-on-the-way").state is State.ABSENT  # type: ignore[arg-type]
    idle = {"i": 0.1, "experts.0": 0.1, "experts.1": 0.0, "o": 0.1}
    assert look(blocks(idle), "gradient-stops-on-the-way").state is State.ABSENT


def test_no_gradient_anywhere_is_told_of_where_the_targets_differ() -> None:
    varied = {"target/spread": (LOOKS, np.full(LOOKS.size, 2.0)), "target/level": (LOOKS, np.full(LOOKS.size, 1.0))}
    assert alarms(blocks(NOWHERE, level(400, 3.0), **varied, **{"grad_norm/pre": np.zeros(400)})) == ["frozen-by-mistake"]


def test_half_precision_rounds_to_nothing() -> None:
    scaled = {"loss_scale": np.full(400, 1024.0)}
    assert {look(blocks(DEAD, **scaled), signal).state for signal in ("gradient-stops-on-the-way", "gradient-is-nowhere")} == {State.ABSENT}


def test_a_layer_that_passes_nothing_on_comes_before_the_size_of_what_it_holds() -> None:
    """A bias of -50 makes its layer large at the first step, and dead for good."""
    large = {"act_mean_abs/i": {0: 0.5}, "act_mean_abs/m.0": {0: 50.0}, "act_mean_abs/o": {0: 0.4}}
    made = blocks(DEAD, level(400, 20.0), **large)
    assert judge(made).findings[0].cause.id == "dead-units"


def test_a_block_that_no_gradient_comes_by_is_named_though_its_loss_falls() -> None:
    """As of an encoder whose state is detached: its weights are measured, and its gradient never is there."""
    assert alarms(weighed("enc", "dec")) == ["frozen-by-mistake"]
    assert alarms(weighed("dec", "out")) == []


def test_a_norm_of_exactly_nothing_says_it_where_the_blocks_were_seldom_looked_at() -> None:
    seen = {"grad_norm/pre": np.zeros(400), "target/level": {0: 1.0, 1: 2.0, 2: 1.0}, "target/spread": {0: 5.0, 1: 4.0, 2: 5.0}}
    assert alarms(run(loss=level(400, 5.3), more=seen, config={"sismo": {"weights_dtype": "fp32"}})) == ["frozen-by-mistake"]  # type: ignore[arg-type]
    assert "frozen-by-mistake" not in alarms(run(loss=level(400, 5.3), more={"grad_norm/pre": np.zeros(400)}))
