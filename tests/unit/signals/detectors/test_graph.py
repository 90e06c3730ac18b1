"""What the graph of a recorded loss says."""

from __future__ import annotations

import numpy as np
import pytest
from support.runs import alarms, event, falling, look, run
from support.trios import Trio, check, check_all, each

from sismo.judge import judge
from sismo.records.types import Run
from sismo.signals.detectors import graph
from sismo.signals.types import State

LOST = np.where(np.arange(400) < 300, falling(400), np.nan)


def made(*ops: str, step: int = 0, whole: bool = True, loss: object = None, **more: object) -> Run:
    seen = event(step, "graph", **{"ops": ["Addmm", *ops], "whole": whole, "sum": False, "squashed": None, **more})
    return run(loss=falling(400) if loss is None else loss, events=[seen])  # type: ignore[arg-type]


BARE = run(loss=falling(400))
TRIOS = {
    "loss-is-a-sum": Trio(made(sum=True), made(), BARE),
    "scores-squashed-twice": Trio(made(squashed="softmax"), made(), BARE),
    "loss-of-the-hardest": Trio(made("NllLoss", "Topk"), made("NllLoss"), made(whole=False)),
    "loss-without-log": Trio(made("LogSoftmax", "NllLoss"), made("Log"), made("NllLoss", whole=False)),
    "loss-without-root": Trio(made("NativeLayerNorm", "Pow"), made("LinalgVectorNorm"), made(whole=False)),
    "loss-takes-a-root": Trio(made("LinalgVectorNorm"), made("Pow"), made(whole=False)),
    "loss-without-attention": Trio(made("LogSoftmax"), made("ScaledDotProductFlashAttentionForCpu"), made(whole=False)),
}


def test_every_signal_of_the_file_is_tried() -> None:
    check_all(graph, TRIOS)


@each(TRIOS)
def test_fires_stays_silent_and_does_not_know(signal: str, trio: Trio) -> None:
    check(signal, trio)


@pytest.mark.parametrize(
    ("op", "signal"),
    [
        *(
            (op, "loss-without-log")
            for op in ("Log", "Log2", "Log1P", "Xlogy", "Logit", "CtcLoss", "BinaryCrossEntropy", "Logsumexp", "LinalgSlogdet")
        ),
        *((op, "loss-without-root") for op in ("Sqrt", "Rsqrt", "PowRoot", "Std", "Norm", "Cdist", "Acos", "LinalgEigh")),
        *((op, "loss-without-attention") for op in ("Softmax", "SafeSoftmax", "ScaledDotProductEfficientAttention")),
    ],
)
def test_whatever_may_hold_one_counts(op: str, signal: str) -> None:
    assert look(made(op), signal).state is State.ABSENT
    assert look(made(op, whole=False), signal).state is State.ABSENT


@pytest.mark.parametrize(
    "op", ["LogSoftmax", "LogSigmoid", "BinaryCrossEntropyWithLogits", "NativeBatchNorm", "NativeGroupNorm", "Pow", "Exp", "Div"]
)
def test_what_torch_guards_counts_as_none(op: str) -> None:
    signals = ("loss-without-log", "loss-without-root", "loss-without-attention")
    assert [look(made(op), signal).state for signal in signals] == [State.PRESENT] * 3


@pytest.mark.parametrize(
    ("step", "state"), [(0, State.UNKNOWN), (299, State.UNKNOWN), (300, State.PRESENT), (340, State.PRESENT), (399, State.UNKNOWN)]
)
def test_of_a_lost_loss_the_graph_of_that_step_counts(step: int, state: State) -> None:
    assert look(made("NllLoss", step=step, loss=LOST), "loss-without-log").state is state


def test_a_root_whose_gradient_is_lost_before_the_loss_is_the_cause_and_the_optimizer_is_what_it_hits() -> None:
    seen = event(300, "graph", ops=["Addmm", "Sqrt"], whole=True, sum=False, squashed=None)
    lost = run(loss=LOST, norm=np.where(np.arange(400) < 299, 1.0, np.nan), events=[seen], dtype="fp32")
    found = {finding.cause.id: finding for finding in judge(lost).findings}
    assert next(iter(found)) == "sqrt-at-zero"
    assert found["inf-into-optimizer"].consequence_of == "sqrt-at-zero"


def test_squashed_scores_come_before_a_loss_that_stays_at_the_guess() -> None:
    chance = np.log(2) + 0.002 * np.sin(7 * np.arange(400))
    assert alarms(made("LogSoftmax", squashed="sigmoid", loss=chance))[0] == "scores-squashed-twice"


@pytest.mark.parametrize("op", ["Topk", "Sort", "Kthvalue"])
def test_a_loss_of_the_hardest_jumps_with_the_rule_that_picks_them_and_not_with_wrong_labels_alone(op: str) -> None:
    """From half of a batch to its tenth: the loss stands higher from one step on, and nothing is wrong. Wrong labels are still told of."""
    step = np.arange(600)
    jumps = falling(600) + np.where(step < 300, 0.0, 3.0)
    more, plain = (judge(made("NllLoss", *ops, loss=jumps)) for ops in ((op,), ()))
    sure = {
        name: [one.confidence for one in found.findings if one.cause.id == "labels-corrupted"]
        for name, found in (("more", more), ("plain", plain))
    }
    assert sure["more"] < sure["plain"]
    assert more.healthy is False
