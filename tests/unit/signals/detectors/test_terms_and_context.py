"""Terms of a sum; what kind of run it is; whether it can be judged; what the log says in words."""

from __future__ import annotations

import numpy as np
import pytest
from support.runs import alarms, cosine, event, falling, level, look, names, run, state, with_at
from support.trios import Trio, check, check_all, each

import sismo
from sismo.judge import judge
from sismo.records.types import RECORDED, Header, Note, Run
from sismo.signals.detectors import context, readable, said, terms
from sismo.signals.types import State

NAN = float("nan")
STEP = np.arange(400)
CALM = falling(400)
PAIR = {"loss_term/a": level(400, 1.0), "loss_term/b": level(400, 1.0)}
BURST = np.where(STEP < 300, 1.0, np.exp(np.minimum(STEP - 300.0, 10)))
FALLS_THROUGH = np.where(STEP < 290, 1.0, 1.0 - (STEP - 290) * 0.5)
LOST = np.where(STEP < 300, CALM, NAN)

TERMS = {
    "terms-out-of-balance": Trio(
        run(loss=CALM, more={**PAIR, "loss_term/b": level(400, 1e5)}),
        run(loss=CALM, more=PAIR),
        run(loss=CALM, more={"loss_term/a": CALM}),
    ),
    "term-bursts": Trio(
        run(loss=BURST + 1.0, more={**PAIR, "loss_term/b": BURST}), run(loss=CALM, more=PAIR), run(loss=CALM, more={"loss_term/a": BURST})
    ),
    "term-goes-negative-before-nan": Trio(run(loss=LOST, more={"loss_term/a": FALLS_THROUGH}), run(loss=LOST, more=PAIR), run(loss=LOST)),
}
CONTEXT = {
    "dtype-fp16": Trio(run(dtype="fp16"), run(dtype="bf16"), run()),
    "dtype-bf16": Trio(run(dtype="bf16"), run(dtype="fp16"), run()),
    "dtype-wide-range": Trio(run(dtype="fp32"), run(dtype="fp16"), run()),
    "scaler-used": Trio(run(scale=np.full(50, 1024.0)), run(scale=np.ones(50), dtype="fp32"), run()),
    "reinforcement": Trio(run(objective="rl"), run(objective="gan"), None),
    "adversarial": Trio(run(objective="gan"), run(objective="rl"), None),
    "loss-may-rise-by-design": Trio(run(loss=CALM - 4.0), run(loss=CALM), run()),
    "language-model": Trio(run(loss=falling(400, start=10.8)), run(loss=CALM), run()),
}
READABLE = {
    "few-rows": Trio(run(loss=CALM[:19]), run(loss=CALM[:20]), None),
}
TAGS = {
    "warned-of-tokenization": "tokenization-mismatch",
    "warned-of-invalid-value": "invalid-value",
    "warned-of-division-by-zero": "divide-by-zero",
    "warned-of-labels": "device-assert",
    "warned-of-nonfinite-overlap": "nonfinite-iou",
    "warned-of-scheduler-order": "scheduler-order",
    "warned-of-overlap": "overlap-comm",
    "warned-of-nonfinite-loss": "nonfinite-loss",
    "warned-of-missing-labels": "no-labels",
    "warned-of-batch-of-one": "batch-of-one",
    "warned-of-ctc": "ctc-length",
}
SAID = {
    **{
        name: Trio(run(events=[event(1, "warning", tag=tag, line="x")]), run(events=[event(1, "warning", tag="other")]), None)
        for name, tag in TAGS.items()
    },
    "crashed-of-nonfinite": Trio(
        run(events=[event(9, "crash", line="RuntimeError: probability tensor contains either `inf`, `nan` or element < 0")]),
        run(events=[event(9, "crash", line="RuntimeError: information about nanoseconds in inference")]),
        None,
    ),
    "log-ends-in-a-crash": Trio(run(events=[event(9, "crash", line="CUDA out of memory")]), run(events=[event(9, "checkpoint")]), None),
    **{
        f"note-{code}": Trio(run(notes=[Note(code, "remark {n}", {"n": 1})]), run(notes=[Note("skipped-lines", "remark")]), None)
        for code in (
            "several-runs",
            "two-writers",
            "placeholder-values",
            "metric-nan-only",
            "rounded-values",
            "smoothed-loss",
            "loss-ends-early",
        )
    },
}


def test_every_signal_of_these_files_is_tried() -> None:
    check_all(terms, TERMS)
    check_all(context, CONTEXT)
    check_all(said, SAID)
    assert {detector.id for detector in readable.DETECTORS} == {"few-rows", "loss-readable"}


@each(TERMS | CONTEXT | READABLE | SAID)
def test_fires_stays_silent_and_does_not_know(signal: str, trio: Trio) -> None:
    check(signal, trio)


@pytest.mark.parametrize(("rows", "readable_at"), [(0, State.UNKNOWN), (19, State.UNKNOWN), (20, State.PRESENT)])
def test_twenty_rows_are_the_least_that_a_run_is_judged_by(rows: int, readable_at: State) -> None:
    made = run(loss=CALM[:rows])
    assert state(made, "loss-readable") is readable_at
    assert sismo.diagnose(made).healthy is (True if rows >= 20 else None)


def test_a_few_rows_can_still_be_broken() -> None:
    assert sismo.diagnose(run(loss=[3.0, NAN, NAN])).healthy is False


def test_a_negative_loss_of_a_few_rows_is_no_design() -> None:
    assert state(run(loss=np.where(STEP == 3, -0.1, CALM)), "loss-may-rise-by-design") is State.ABSENT


def test_a_term_that_bursts_carries_the_verdict() -> None:
    made = run(loss=BURST + 1.0, more={**PAIR, "loss_term/b": BURST}, lr=cosine())
    assert names(made)[0] == "term-imbalance"


def test_a_term_that_is_negative_all_along_has_not_lost_its_floor() -> None:
    assert state(run(loss=LOST, more={"loss_term/a": level(400, -2.0)}), "term-goes-negative-before-nan") is State.ABSENT


def test_a_short_run_up_below_zero_is_seen_as_well() -> None:
    early = np.where(STEP < 15, CALM, NAN)
    made = run(loss=early, more={"loss_term/a": np.where(STEP < 12, 1.0, -1.0)})
    assert look(made, "term-goes-negative-before-nan").start == 12


def test_a_term_that_is_not_in_the_total_drowns_no_other() -> None:
    """An optimizer of its own, as the entropy models of learned codecs have: its loss is printed beside the total."""
    more = {"loss_term/rate": CALM * 0.3, "loss_term/distortion": CALM * 0.7}
    beside = {**more, "loss_term/aux": CALM * 3e4}
    assert state(run(loss=CALM, more=beside), "terms-out-of-balance") is State.ABSENT
    assert state(run(loss=CALM + beside["loss_term/aux"], more=beside), "terms-out-of-balance") is State.PRESENT


def test_terms_that_cancel_are_all_in_the_total() -> None:
    more = {"loss_term/a": level(400, 2e5), "loss_term/b": level(400, -2e5), "loss_term/c": CALM}
    assert state(run(loss=CALM, more=more), "terms-out-of-balance") is State.PRESENT


def test_a_first_row_of_one_batch_among_sums_is_no_level_to_burst_from() -> None:
    total = np.full(60, 2e4)
    total[0] = 270.0
    more = {"loss_term/transformer": np.concatenate([[180.0], np.geomspace(1.2e5, 2e3, 59)]), "loss_term/ner": total}
    assert state(run(loss=more["loss_term/transformer"] + total, more=more), "term-bursts") is State.ABSENT
    later = {**more, "loss_term/transformer": np.concatenate([np.full(40, 180.0), np.full(20, 1e6)])}
    assert state(run(loss=later["loss_term/transformer"] + total, more=later), "term-bursts") is State.PRESENT


@pytest.mark.parametrize("weight", [0.1, 0.001])
def test_a_weighted_term_that_bursts_in_the_second_row_does(weight: float) -> None:
    """The KL of a VAE without a bound on its variances: printed as it is, and in the total by its weight."""
    kl = np.concatenate([[1500.0, 5e5, 2e5, 1e4], np.full(60, 400.0)])
    rest = np.concatenate([[1.2, 5.1, 1.1, 3.0], np.full(60, 0.7)])
    made = run(loss=rest + weight * kl, more={"loss_term/kl": kl, "loss_term/reconstruction": rest})
    assert state(made, "term-bursts") is State.PRESENT


def test_adversarial_terms_of_one_size_are_no_alarm() -> None:
    made = run(loss=level(400, 1.4, 0.2), more={"loss_term/G": level(400, 0.7, 0.2), "loss_term/D": level(400, 0.7, 0.2)}, objective="gan")
    assert alarms(made) == []


def test_the_losses_of_two_networks_need_no_balance() -> None:
    sizes = {"loss_term/g_fea": level(400, 0.9), "loss_term/d_real": level(400, 2e-5, 1e-6)}
    assert state(run(loss=CALM, more=sizes), "terms-out-of-balance") is State.PRESENT
    assert state(run(loss=CALM, more=sizes, objective="gan"), "terms-out-of-balance") is State.UNKNOWN


@pytest.mark.parametrize("line", [
    "ValueError: Expected parameter logits to satisfy the constraint Real(), but found invalid values:\ntensor([[nan, 1.],\n",
    "ValueError: cannot convert float NaN to integer",
    "ValueError: Input contains infinity or a value too large for dtype('float32').",
    "RuntimeError: Function 'LogBackward0' returned nan values in its 0th output.",
])  # fmt: skip
def test_a_run_that_an_error_about_nan_ended_is_not_healthy(line: str) -> None:
    made = run(loss=falling(300), events=[event(300, "crash", line=line)])
    assert alarms(made) == ["nonfinite-loss-in-words"]
    assert alarms(run(loss=falling(300), events=[event(300, "crash", line="KeyError: 'input_ids'")])) == []


@pytest.mark.parametrize(
    ("terms", "signal"),
    [
        (("g", "d"), "adversarial"),
        (("loss_G", "loss_D"), "adversarial"),
        (("generator", "discriminator"), "adversarial"),
        (("policy", "value"), "reinforcement"),
        (("actor", "critic", "entropy"), "reinforcement"),
        (("recon", "kl"), None),
        (("g", "l1"), None),
    ],
)
def test_the_terms_that_a_recorder_was_given_show_the_objective(terms: tuple[str, ...], signal: str | None) -> None:
    given = {f"loss_term/{name}": level(400, 0.7, 0.1) for name in terms}
    recorded = Run("made", Header(source=RECORDED), run(loss=CALM, more=given).series)
    found = [name for name in ("adversarial", "reinforcement") if look(recorded, name).state is State.PRESENT]
    assert found == ([signal] if signal else [])
    assert state(run(loss=CALM, more=given), "adversarial") is State.ABSENT  # of a log, its reader says so


@pytest.mark.parametrize(("second", "language"), [(7.0, True), (6.6, True), (5.5, False)])
def test_a_first_loss_that_falls_at_once_was_no_guess_over_tokens(second: float, language: bool) -> None:
    made = run(loss=with_at(falling(400), 0, 7.2, second))
    assert state(made, "language-model") is (State.PRESENT if language else State.ABSENT)
    sparse = run(loss=with_at(falling(400), 0, 7.2, second), every=50)
    assert state(sparse, "language-model") is State.PRESENT


@pytest.mark.parametrize(("every", "second", "language"), [(5, 4.5, True), (5, 3.2, False), (20, 3.2, False), (25, 3.2, True)])
def test_no_model_of_language_gets_to_half_of_its_guess_in_twenty_steps(every: int, second: float, language: bool) -> None:
    made = run(loss=with_at(falling(400, start=3.0), 0, 7.2, second), every=every)
    assert state(made, "language-model") is (State.PRESENT if language else State.ABSENT)


def test_a_term_that_stands_while_another_is_learnt_is_no_imbalance() -> None:
    """What balances the experts, or keeps the weights small, is at its floor from the start."""
    task = falling(400, start=3.2, end=0.03)
    for floor in (0.04, 0.6):
        assert alarms(run(loss=task + floor, more={"loss_term/task": task, "loss_term/aux": level(400, floor)})) == []


def grown(ops: list[str], loss: object = CALM, **more: object) -> Run:
    made = run(loss=loss, more=more, events=[event(0, "graph", ops=ops, whole=True)])  # type: ignore[arg-type]
    return Run("made", Header(source=RECORDED), made.series, made.events)


@pytest.mark.parametrize(
    ("ops", "agent"),
    [
        (["Addmm", "Gather", "MseLoss", "Relu", "Squeeze", "T"], True),
        (["Addmm", "Convolution", "Gather", "Mean", "Relu", "SmoothL1Loss", "Sub", "View"], True),
        (["Add", "Addmm", "Clamp", "Exp", "Gather", "Logsumexp", "Mean", "Minimum", "MseLoss", "Mul", "Neg", "Sub"], True),
        (["Addmm", "Index", "Relu", "SmoothL1Loss", "T"], False),  # a mask, where nothing tells that the targets drift
        (["Addmm", "MseLoss", "Relu", "Squeeze", "T"], False),
        (["Addmm", "Gather", "MseLoss", "ScaledDotProductFlashAttentionForCpu"], False),  # patches that are put back in their places
        (["Addmm", "Gather", "MseLoss", "MkldnnRnnLayer"], False),  # the last step of a sequence
        (["Addmm", "Gather", "LogSoftmax", "Mean", "Neg"], False),  # a cross-entropy by hand
        (["Clamp", "Convolution", "Exp", "Gather", "Maximum", "Minimum", "NllLoss"], False),  # boxes
    ],
)
def test_what_a_recorded_loss_is_made_of_shows_an_agent(ops: list[str], agent: bool) -> None:
    assert (look(grown(ops), "reinforcement").state is State.PRESENT) == agent


RENEWALS = np.array([0.0, 0.6, 0.8, 1.1, 1.5, 2.0])[np.arange(60) // 10] + level(60, 0.0, 0.05)
MASKS = {
    "an agent's": (RENEWALS, True),
    "the same": (level(60, 0.1, 0.05), False),
    "wrong from a step on": (np.where(np.arange(60) < 25, 0.1, 10.0) + level(60, 0.0, 0.05), False),
    "too few": (RENEWALS[:6], False),
}


@pytest.mark.parametrize("kind", MASKS)
def test_outputs_that_are_picked_by_their_places_are_an_agents_where_the_targets_go_on_moving(kind: str) -> None:
    """A plain network that is drawn to the values a mask leaves over, as in imputation, picks them as an agent picks its action."""
    targets, agent = MASKS[kind]
    levels = {"target/level": (np.arange(targets.size) * 6, targets)}
    ops = ["Addmm", "Index", "MseLoss", "Relu", "T"]
    jumps = np.where(STEP < 200, 1.0, 4.0) * np.exp(level(400, 0.0, 0.1))
    assert (look(grown(ops, **levels), "reinforcement").state is State.PRESENT) is agent
    assert bool({"labels-corrupted", "optimizer-state-corrupted"} & set(alarms(grown(ops, jumps, **levels)))) is not agent
    assert look(grown(["Addmm", "Gather", "MseLoss"], **levels), "reinforcement").state is State.PRESENT


def test_a_leap_that_no_reward_explains_is_named_of_an_agent_too() -> None:
    agent = ["Addmm", "Gather", "MseLoss", "Relu"]
    target = np.exp(level(400, -4.0, 0.4))
    renewed = np.where(STEP < 250, target, 5 * target)
    assert alarms(grown(agent, renewed)) == []
    assert alarms(grown(agent, np.where(STEP < 250, target, 1e5 * target)))[0] in ("labels-corrupted", "optimizer-state-corrupted")


def test_an_agent_goes_several_times_over_what_it_has_gathered() -> None:
    clips = ["Addmm", "Clamp", "Exp", "Gather", "Logsumexp", "Mean", "Minimum", "Neg"]
    four = {"batch/fingerprint": np.repeat(np.arange(100.0), 4), "batch/repeats": np.tile([1.0, 2.0, 3.0, 4.0], 100)}
    assert alarms(grown(clips, **four)) == []
    assert alarms(grown(["Addmm", "LogSoftmax", "NllLoss"], **four)) == ["duplicate-batch"]  # four workers that serve the same
    stuck = {"batch/fingerprint": np.minimum(STEP, 200.0), "batch/repeats": np.clip(STEP - 199.0, 1, 20)}
    assert alarms(grown(clips, **stuck)) == ["duplicate-batch"]


def test_a_rise_that_the_loss_alone_tells_of_is_named_with_doubt() -> None:
    """A weight that nobody logged raises the loss as a divergence does, and the gradient of its term with it."""
    rises = 5.0 + 6.0 * np.exp(-STEP / 20) + 4 * np.minimum(STEP / 250, 1.0) + level(400, 0.0, 0.05)
    for norm in (None, level(400, 1.0, 0.05), (1 + STEP / 400) * level(400, 1.0, 0.05)):
        (found,) = [one for one in judge(run(loss=rises, norm=norm)).findings if one.severity.rank]
        assert found.cause.id == "silent-divergence"
        assert found.confidence < 0.6


def test_a_loss_may_rise_while_the_weight_of_a_term_does() -> None:
    beta = np.minimum(STEP / 250, 1.0)
    loss = 5.0 + 6.0 * np.exp(-STEP / 20) + 4 * beta + level(400, 0.0, 0.05)
    assert alarms(run(loss=loss)) == ["silent-divergence"]
    assert alarms(run(loss=loss, more={"metric/beta": beta})) == []
    assert alarms(run(loss=loss, more={"metric/kl_weight": beta})) == []
    assert alarms(run(loss=loss, more={"metric/accuracy": beta})) == ["silent-divergence"]
    goes_on = np.where(STEP < 150, loss, loss[150] + 0.02 * (STEP - 150))
    assert alarms(run(loss=goes_on, more={"metric/beta": np.minimum(STEP / 100, 1.0)})) == ["silent-divergence"]
