"""Activations of the first step, and what first loss they can explain."""

from __future__ import annotations

import numpy as np
import pytest
from support.runs import look, run, with_at
from support.trios import Trio, check, check_all, each

from sismo.judge import judge
from sismo.records.types import Run
from sismo.signals.detectors import outset
from sismo.signals.types import State

ONES = np.ones(400)


def start(sizes: dict[str, float], loss: float = 6.2, *, vocab: int | None = 512, family: str = "act_mean_abs") -> Run:
    values = {f"{family}/{layer}": with_at(ONES, 0, size) for layer, size in sizes.items()}
    return run(with_at(3 * ONES, 0, loss), more=values, vocab_size=vocab)  # type: ignore[arg-type]


LARGE, USUAL = {"blocks.0.mlp": 90.0, "final.norm": 0.8}, {"blocks.0.mlp": 3.0, "final.norm": 0.8}
TRIOS = {
    "activations-large-at-start": Trio(start({"0": 60.0}), start({"0": 3.0}), run(more={"act_mean_abs/0": ONES[:50]})),
    "activations-over-unit-scale": Trio(start(LARGE), start(USUAL), run(more={"act_mean_abs/0": ONES})),
    "activations-usual-at-start": Trio(start(USUAL), start(LARGE), start(USUAL, vocab=None)),
    "loss-over-what-activations-allow": Trio(
        start({"head": 2.0, "0": 0.5}, 300.0, family="act_max_abs"),
        start({"head": 2.0, "0": 0.5}, 9.0, family="act_max_abs"),
        start({"head": 2.0}, 300.0, vocab=None, family="act_max_abs"),
    ),
}


def test_every_signal_of_the_file_is_tried() -> None:
    check_all(outset, TRIOS)


@each(TRIOS)
def test_fires_stays_silent_and_does_not_know(signal: str, trio: Trio) -> None:
    check(signal, trio)


def test_one_layer_alone_says_nothing_of_all() -> None:
    assert look(start({"logits": 1.0}), "activations-usual-at-start").state is State.ABSENT


@pytest.mark.parametrize(
    ("loss", "largest", "mean", "expected"),
    [
        (320 * 6.2, 3.0, 1.0, set()),  # a sum over 320 tokens: the activations are healthy, and no mean of theirs is that high
        (60.0, 900.0, 300.0, {"init-too-large"}),
        (11.0, 5.0, 1.0, {"head-biased", "init-too-large"}),  # the scores may be that sure, the layers are not large
    ],
)
def test_the_activations_of_the_first_step_decide_about_a_high_first_loss(
    loss: float, largest: float, mean: float, expected: set[str]
) -> None:
    layers = {
        f"act_{kind}_abs/{name}": with_at(ONES, 0, size)
        for kind, size in (("max", largest), ("mean", mean))
        for name in ("0", "norm.f", "head")
    }
    layers["act_mean_abs/norm.f"] = ONES
    made = run(with_at(3 * ONES, 0, loss), more=layers, vocab_size=512)  # type: ignore[arg-type]
    found = judge(made).findings
    named = {
        finding.cause.id: finding
        for finding in found
        if finding.cause.id in ("init-too-large", "head-biased") and not finding.consequence_of
    }
    assert set(named) == expected
    if len(expected) == 2:
        assert named["head-biased"].confidence > named["init-too-large"].confidence


def test_what_starts_small_and_goes_to_nothing_did_not_start_too_large() -> None:
    fades = with_at(0.005 * ONES, 0, 0.5)
    assert (
        look(run(2 * ONES, more={"act_mean_abs/6": fades, "act_mean_abs/norm": ONES}), "activations-large-at-start").state is State.ABSENT
    )
    assert (
        look(run(2 * ONES, more={"act_mean_abs/6": 20 * fades, "act_mean_abs/norm": ONES}), "activations-large-at-start").state
        is State.PRESENT
    )
