"""What the probes proved."""

from __future__ import annotations

import numpy as np
import pytest
from support.runs import alarms, event, falling, names, run, state
from support.trios import Trio, check, check_all, each

from sismo.judge import diagnose
from sismo.records.types import Event, Run
from sismo.signals.detectors import probes
from sismo.signals.types import State

EMPTY = run()


def probe(**data: object) -> Run:
    return run(events=[event(10, "probe", **data)])


TRIOS = {
    "replay-differs": Trio(probe(replay="differs"), probe(replay="agrees"), EMPTY),
    "replay-parts-from-run": Trio(probe(replay="agrees", run="parted"), probe(replay="agrees", run="same"), probe(replay="agrees")),
    **{
        f"replay-blames-{name}": Trio(probe(**{"class": name}), probe(**{"class": "none"}), EMPTY)
        for name in ("data", "state", "learning-rate", "structure")
    },
    "fp32-replay-clean": Trio(probe(fp32="clean"), probe(fp32="fails"), EMPTY),
    "fp32-replay-fails": Trio(probe(fp32="fails"), probe(fp32="clean"), EMPTY),
    "future-moves-the-past": Trio(probe(causality="broken"), probe(causality="sound"), EMPTY),
    "labels-are-the-inputs": Trio(probe(labels="in-input"), probe(labels="apart"), EMPTY),
    "eval-differs-twice": Trio(probe(eval_twice="differs"), probe(eval_twice="agrees"), EMPTY),
    "training-flag-false": Trio(probe(training_mode="off"), probe(training_mode="on"), EMPTY),
    "initialisation-large": Trio(probe(init="large", where="head"), probe(init="sound"), EMPTY),
    "initialisation-small": Trio(probe(init="small", where="head"), probe(init="sound"), EMPTY),
    "gradient-cut-off": Trio(probe(flow="cut-off", where="head"), probe(flow="sound"), EMPTY),
    "weights-not-held": Trio(probe(held="no"), probe(held="yes"), EMPTY),
    "step-changes-nothing": Trio(probe(update="nothing"), probe(update="changes"), EMPTY),
    "gradients-pile-up": Trio(probe(piles_up="yes"), probe(piles_up="no"), probe(flow="sound")),
    "scaled-gradients-clipped": Trio(probe(clips_scaled="yes"), probe(clips_scaled="no"), probe(flow="sound")),
    "gradient-dies-over-depth": Trio(probe(gradient="dies", where="wte"), probe(gradient="reaches"), EMPTY),
    "examples-seen-before": Trio(probe(duplicates="yes"), probe(duplicates="no"), EMPTY),
    "splits-overlap": Trio(probe(overlap="yes"), probe(overlap="no"), EMPTY),
    "labels-carry-no-loss": Trio(probe(unlabelled="yes"), probe(unlabelled="no"), EMPTY),
    "batch-carried-by-few": Trio(probe(batch="carried"), probe(batch="even"), EMPTY),
    "origin-found": Trio(probe(origin="found", where="head"), probe(origin="none"), probe(fp32="clean")),
    **{
        f"origin-is-{name}": Trio(probe(op=op, where="head"), probe(op="other"), EMPTY)
        for name, op in {
            "log": "log",
            "division": "div",
            "backward": "backward",
            "attention-mask": "attention",
            "weight": "weight",
            "input": "input",
            "embedding-gradient": "embedding-gradient",
            "half-overflow": "half-overflow",
            "update": "optimizer",
        }.items()
    },
    "origin-is-operation": Trio(probe(what="operation", where="exp"), probe(what="tensor"), EMPTY),
    "origin-is-empty-mean": Trio(probe(over="nothing", where="mean"), probe(over="something"), EMPTY),
    "gradient-lost-on-the-way-back": Trio(probe(phase="backward", where="div"), probe(phase="loss"), EMPTY),
    "inputs-proved-finite": Trio(probe(inputs="finite"), probe(inputs="bad"), EMPTY),
    "fix-failed": Trio(probe(fix="failed"), probe(fix="held"), EMPTY),
}


def test_every_signal_of_the_file_is_tried() -> None:
    check_all(probes, TRIOS)


@each(TRIOS)
def test_fires_stays_silent_and_does_not_know(signal: str, trio: Trio) -> None:
    check(signal, trio)


def test_the_last_result_counts() -> None:
    said = [event(10, "probe", causality=result) for result in ("broken", "sound", "broken")]
    broken, repaired = run(events=said), run(events=said[:2])
    assert state(repaired, "future-moves-the-past") is State.ABSENT
    assert state(broken, "future-moves-the-past") is State.PRESENT


def test_a_small_initialisation_that_lets_the_gradient_through_is_no_fault() -> None:
    """GPT-2's own is a fiftieth of torch's at the embedding."""
    assert "init-too-small" not in names(run(loss=falling(400), events=[event(0, "probe", init="small", where="tokens")]))
    assert "init-too-small" in names(run(loss=falling(400), events=[event(0, "probe", init="small", gradient="dies", where="first")]))


def test_gradients_of_zero_behind_dead_units_are_no_frozen_layer() -> None:
    cut = event(399, "probe", flow="cut-off", where="first")
    dead = {"dead_units/first": np.ones(40)}
    assert names(run(loss=falling(400), events=[cut]))[0] == "frozen-by-mistake"
    assert names(run(loss=falling(400), more=dead, events=[cut]))[0] == "dead-units"


def test_a_step_that_bf16_weights_round_away_is_told_as_that() -> None:
    more = {"update_ratio/a": np.full(40, 1e-5)}
    still = run(loss=falling(400, start=2.0), more=more, dtype="bf16", events=[event(399, "probe", update="nothing", where="a")])
    assert names(still)[0] == "bf16-update-rounding"


def test_gradients_that_pile_up_where_no_optimizer_clears_them_are_the_optimizers_list() -> None:
    """zero_grad of an optimizer clears what it holds, and nothing else."""
    piles = {"piles_up": "yes", "where": "first"}
    assert names(run(loss=falling(400), events=[event(399, "probe", flow="sound", held="yes", **piles)]))[0] == "missing-zero-grad"
    left = names(run(loss=falling(400), events=[event(399, "probe", flow="sound", held="no", **piles)]))
    assert left[0] == "parameter-not-in-optimizer"
    assert "missing-zero-grad" not in left


def test_a_root_that_is_proved_leads_and_not_what_it_put_into_the_optimizer() -> None:
    loss, norm = falling(300, 1), falling(300, 2)
    loss[201:], norm[200:] = np.nan, np.nan
    proof = event(200, "probe", probe="nan", origin="found", op="backward", where="sqrt")
    assert names(run(loss=loss, norm=norm, dtype="fp32", events=[proof]))[0] == "sqrt-at-zero"


def test_a_step_that_only_the_run_lost_proves_no_machine() -> None:
    parted = run(loss=falling(300), events=[event(200, "probe", probe="replay", replay="agrees", run="parted")])
    cause = next(one for one in diagnose(parted).causes if one.id == "hardware-fault")
    assert "proved" not in str(cause.confirm)


# The first step


def lost_at_once(*events: Event, finite: int = 0, **header: object) -> Run:
    """A run that is lost for good after so many finite steps, of which the last may have a lost gradient."""
    loss, norm = np.full(60, np.nan), np.full(60, np.nan)
    loss[:finite], norm[: max(0, finite - 1)] = 2.0, 1.0
    return run(loss=loss, norm=norm, **({"dtype": "fp32"} | header), events=events)


ORIGINS = {
    "log-of-zero": {"op": "log", "kind": "loss", "where": "log"},
    "sqrt-at-zero": {"op": "backward", "kind": "backward", "phase": "backward", "where": "sqrt"},
    "all-keys-masked": {"op": "attention", "kind": "forward", "where": "blocks.0: softmax", "module": "blocks.0"},
    "nonfinite-input": {"op": "input", "kind": "bad-input", "where": "images", "inputs": "bad"},
    "nonfinite-weight": {"op": "weight", "kind": "bad-weight", "where": "head.weight"},
    "zero-over-zero": {"op": "div", "kind": "loss", "where": "nll_loss", "over": "nothing"},
    "nonfinite-operation": {"op": "exp", "kind": "forward", "where": "blocks.1: exp", "module": "blocks.1", "what": "operation"},
}
"""A cause and what the NaN probe says where it is the one."""


@pytest.mark.parametrize("finite", [0, 1, 30])
@pytest.mark.parametrize("cause", ORIGINS)
def test_an_origin_that_a_probe_found_is_named_from_whatever_step_it_is_lost(cause: str, finite: int) -> None:
    found = diagnose(lost_at_once(Event(finite, "probe", {"probe": "nan", "origin": "found", **ORIGINS[cause]}), finite=finite))
    assert found.causes[0].id == cause
    assert found.causes[0].confidence >= 0.75
    assert not found.causes[0].twins
    assert any(
        str(ORIGINS[cause]["where"]).rpartition(": ")[2] in str(one.text) or "log" in str(one.text) for one in found.causes[0].evidence
    )


def test_an_operation_that_overflows_after_growth_is_a_consequence_of_the_growth() -> None:
    norm = np.where(np.arange(300) < 250, 1.0, 1.4 ** (np.arange(300) - 249.0))
    loss = np.where(np.arange(300) < 270, falling(300), np.nan)
    origin = Event(270, "probe", {"probe": "nan", "origin": "found", **ORIGINS["nonfinite-operation"]})
    found = diagnose(run(loss=loss, norm=np.where(np.arange(300) < 270, norm, np.nan), dtype="fp32", events=[origin]))
    assert found.causes[0].id == "exploding-gradients"
    assert {one.id: one.consequence_of for one in found.causes}["nonfinite-operation"] == "exploding-gradients"


@pytest.mark.parametrize("dtype", ["fp32", "bf16"])
def test_a_first_gradient_that_is_lost_under_a_finite_loss_is_a_derivative(dtype: str) -> None:
    assert names(lost_at_once(finite=1, dtype=dtype))[0] == "sqrt-at-zero"


def test_a_first_gradient_that_is_lost_in_half_precision_is_no_derivative() -> None:
    assert "sqrt-at-zero" not in names(lost_at_once(finite=1, dtype="fp16"))
    assert "sqrt-at-zero" not in names(lost_at_once(finite=0))


# A probe that has looked and found nothing


def suspicious(*events: Event) -> Run:
    """A validation loss under the training loss all along."""
    loss = falling(600)
    return run(loss=loss, val={step: float(0.7 * loss[step]) for step in range(9, 600, 10)}, events=events)


def vanishing(*events: Event) -> Run:
    """A language model whose training and validation loss vanish together."""
    loss = 6.2 * np.exp(-np.arange(400) / 40) + 0.002
    return run(loss=loss, val={step: float(loss[step]) for step in range(9, 400, 10)}, vocab_size=512, events=events)


def lost(*events: Event) -> Run:
    """A loss that is lost for good, all at once."""
    there = np.arange(400) < 300
    return run(loss=np.where(there, falling(400), np.nan), norm=np.where(there, 1.0, np.nan), dtype="fp32", events=events)


NO = {
    "train-val-overlap": (suspicious, {"probe": "leakage", "overlap": "no"}),
    "causal-mask-broken": (vanishing, {"probe": "causal", "causality": "sound"}),
    "log-of-zero": (lost, {"probe": "nan", "origin": "found", "op": "backward"}),
    "sqrt-at-zero": (lost, {"probe": "nan", "origin": "found", "op": "log"}),
    "all-keys-masked": (lost, {"probe": "nan", "origin": "found", "op": "matmul"}),
    "nonfinite-input": (lost, {"probe": "nan", "origin": "found", "op": "matmul", "inputs": "finite"}),
    "nonfinite-weight": (lost, {"probe": "nan", "origin": "found", "op": "matmul"}),
}
"""A suspicion, a run in which it is one, and the result of a probe that leaves nothing of it."""


@pytest.mark.parametrize("cause", NO)
def test_a_suspicion_falls_when_the_probe_says_no(cause: str) -> None:
    made, result = NO[cause]
    assert cause in names(made())
    assert cause not in names(made(Event(300, "probe", result)))


def test_a_suspicion_of_two_sides_is_pushed_down_by_each_no() -> None:
    sure = [confidence(vanishing(Event(399, "probe", said)), "target-in-input") for said in (
        {"probe": "causal", "causality": "broken", "where": "x"}, {"probe": "causal", "causality": "sound"},
        {"probe": "causal", "causality": "sound", "labels": "apart"},
    )]  # fmt: skip
    assert sure == sorted(sure, reverse=True)
    assert 0 < sure[-1] < 0.3


def test_what_a_probe_found_once_is_not_denied_after_the_change() -> None:
    """The run was recorded before the change: its loss still vanishes for what the probe then found."""
    found, gone = ({"probe": "causal", "causality": said} for said in ("broken", "sound"))
    assert "causal-mask-broken" in names(vanishing(Event(399, "probe", found), Event(399, "probe", gone)))


def test_a_step_at_which_nothing_is_lost_denies_nothing_of_another() -> None:
    assert names(lost(Event(10, "probe", {"probe": "nan", "origin": "none", "op": "none"}))) == names(lost())


def test_what_the_run_itself_measured_is_not_taken_back_by_code_that_may_be_another() -> None:
    carried_over = {"grad_carried": np.ones(300), "grad_norm/pre": np.ones(300)}
    cleared = Event(299, "probe", {"probe": "flow", "flow": "sound", "held": "yes", "piles_up": "no"})
    assert names(run(loss=falling(300), more=carried_over))[0] == "missing-zero-grad"
    assert names(run(loss=falling(300), more=carried_over, events=[cleared]))[0] == "missing-zero-grad"
    # The probe looks at what the model of build() trains; the recorded one had a layer that did not.
    stands = {"update_ratio/a": np.zeros(300), "update_ratio/b": np.full(300, 1e-3)}
    sound = Event(299, "probe", {"probe": "flow", "flow": "sound", "held": "yes", "update": "changes"})
    assert "frozen-by-mistake" in alarms(run(loss=falling(300), more=stands))
    assert alarms(run(loss=falling(300), more=stands, events=[sound]))[0] == "frozen-by-mistake"


def test_the_path_says_no_where_the_probe_did() -> None:
    answers = {item.id: item.answer for item in diagnose(suspicious(Event(599, "probe", {"probe": "leakage", "overlap": "no"}))).walk}
    assert answers["P3.Q3"] != "yes"


def test_no_check_is_asked_for_that_was_made() -> None:
    from sismo.incident.prescribe import prescribe
    from sismo.judge import judge

    entropy = 1.2
    sound = Event(399, "probe", {"probe": "causal", "causality": "sound"})
    made = vanishing(sound)
    made = Run(made.path, made.header._replace(entropy=entropy), made.series, made.events)
    asked = prescribe(made, judge(made))
    assert asked.cause == "entropy-floor-crossed"
    assert asked.probe == ""
    assert "causality probe" not in str(asked.action)


def confidence(made: Run, cause: str) -> float:
    return next((one.confidence for one in diagnose(made).causes if one.id == cause), 0.0)
