"""What only a recorded run holds."""

from __future__ import annotations

import numpy as np
import pytest
from support.runs import event, level, look, run, state, with_at
from support.trios import Trio, check, check_all, each

from sismo.judge import judge
from sismo.records.types import Run
from sismo.signals.detectors import panels
from sismo.signals.types import State
from sismo.tree.types import Answer, Severity

NAN = float("nan")
ONES = np.ones(400)
EMPTY = run()


def one(channel: str, values: object, **more: object) -> Run:
    return run(more={channel: values, **more})  # type: ignore[dict-item]


def probe(**data: object) -> Run:
    return run(events=[event(10, "probe", **data)])


def start(sizes: dict[str, float], loss: float = 6.2) -> Run:
    values = {f"act_mean_abs/{layer}": with_at(ONES, 0, size) for layer, size in sizes.items()}
    return run(with_at(ONES, 0, loss), more=values, vocab_size=512)  # type: ignore[arg-type]


def evaluated(values: list[float]) -> Run:
    steps = np.arange(len(values)) * 100
    return run(6.2 * ONES, more={"loss/val": (steps, np.array(values))}, entropy=1.2, vocab_size=512)  # type: ignore[dict-item]


TRIOS = {
    "activation-near-limit": Trio(one("act_max_abs/0", with_at(ONES, 9, 4e4)), one("act_max_abs/0", ONES), EMPTY),
    "activation-nonfinite": Trio(one("act_nonfinite/0", with_at(0 * ONES, 9, 3.0)), one("act_nonfinite/0", 0 * ONES), EMPTY),
    "units-dead": Trio(one("dead_units/0", 0.9 * ONES), one("dead_units/0", 0.05 * ONES), EMPTY),
    "heads-dead": Trio(
        one("head_entropy/0", 0.1 * ONES, **{"head_entropy/1": 0.8 * ONES}),
        one("head_entropy/0", 0.1 * ONES, **{f"head_entropy/{head}": 0.8 * ONES for head in range(1, 8)}),
        EMPTY,
    ),
    "most-heads-dead": Trio(
        one("head_entropy/0", 0.1 * ONES, **{"head_entropy/1": 0.8 * ONES}),
        one("head_entropy/0", 0.1 * ONES, **{f"head_entropy/{head}": 0.8 * ONES for head in (1, 2)}),
        EMPTY,
    ),
    "heads-die-in-the-run": Trio(
        one("head_entropy/0", np.append(np.linspace(1.0, 0.05, 80), 0.05 * ONES[80:]), **{"head_entropy/1": 0.8 * ONES}),
        one("head_entropy/0", 0.1 * ONES, **{"head_entropy/1": 0.8 * ONES}),
        EMPTY,
    ),
    "attention-logits-large": Trio(one("head_max_logit/0", with_at(ONES, 9, 120.0)), one("head_max_logit/0", 120 * ONES), EMPTY),
    "units-dead-from-the-start": Trio(one("dead_units/0", 0.9 * ONES), one("dead_units/0", np.where(np.arange(400) < 50, 0.1, 0.9)), EMPTY),
    "weight-norm-doubles": Trio(
        one("weight_norm/a", (np.arange(100) * 10, np.geomspace(1, 60, 100))),
        one("weight_norm/a", (np.arange(100) * 10, ONES[:100])),
        EMPTY,
    ),
    "weight-norm-halves": Trio(
        one("weight_norm/a", (np.arange(100) * 10, np.geomspace(60, 1, 100))),
        one("weight_norm/a", (np.arange(100) * 10, ONES[:100])),
        EMPTY,
    ),
    "update-is-zero": Trio(one("update_ratio/a", 0 * ONES), one("update_ratio/a", with_at(0 * ONES, 9, 1e-4)), EMPTY),
    "update-too-large": Trio(one("update_ratio/a", 0.1 * ONES), one("update_ratio/a", 1e-3 * ONES), EMPTY),
    "update-under-rounding": Trio(one("update_ratio/a", 1e-4 * ONES), one("update_ratio/a", 5e-3 * ONES), EMPTY),
    "adam-lags": Trio(one("adam_rms/a", with_at(ONES, 9, 3.0)), one("adam_rms/a", ONES), EMPTY),
    "gradient-zeros": Trio(one("grad_zero_share", 0.4 * ONES), one("grad_zero_share", 0.01 * ONES), EMPTY),
    "gradient-vanishes-over-depth": Trio(
        one("grad_norm_group/0", 1e-5 * ONES, **{"grad_norm_group/1": ONES}),
        one("grad_norm_group/0", 0.1 * ONES, **{"grad_norm_group/1": ONES}),
        one("grad_norm_group/0", ONES),
    ),
    "input-nonfinite": Trio(one("batch/nonfinite", with_at(0 * ONES, 9, 1.0)), one("batch/nonfinite", 0 * ONES), EMPTY),
    "batch-without-labels": Trio(one("batch/label_share", with_at(ONES, 9, 0.0)), one("batch/label_share", ONES), EMPTY),
    "evaluated-in-training-mode": Trio(one("batch/mode", ONES[:9]), one("batch/mode", with_at(0 * ONES[:9], 4, 1.0)), EMPTY),
    "batch-fully-masked-row": Trio(one("batch/masked_rows", with_at(0 * ONES, 9, 1.0)), one("batch/masked_rows", 0 * ONES), EMPTY),
    "batch-repeats": Trio(one("batch/repeats", with_at(ONES, 9, 3.0)), one("batch/repeats", with_at(ONES, 9, 2.0)), EMPTY),
    "batch-is-rare": Trio(one("batch/rarity", with_at(ONES, 9, 10.0)), one("batch/rarity", level(400, 1.0, 0.3)), EMPTY),
    "loss-under-entropy-floor": Trio(evaluated([6.2, 1.4, 0.5, 0.3]), evaluated([6.2, 1.4, 1.0, 1.25]), one("loss/val", ONES)),
    "rank-nonfinite-first": Trio(
        one("loss_rank/0", with_at(ONES, 9, NAN), **{"loss_rank/1": ONES}),
        one("loss_rank/0", with_at(ONES, 9, NAN), **{"loss_rank/1": with_at(ONES, 9, NAN)}),
        one("loss_rank/0", with_at(ONES, 9, NAN)),
    ),
    "replicas-part": Trio(probe(replicas="differ"), probe(replicas="agree"), EMPTY),
    "log-z-drifts": Trio(
        one("metric/log_z", np.linspace(0, 5, 200)), one("metric/log_z", level(200, 0.0, 0.1)), one("metric/log_z", ONES[:9])
    ),
    "checkpoints-often-enough": Trio(run(checkpoint_every=200), run(checkpoint_every=201), EMPTY),
}


def test_every_signal_of_the_file_is_tried() -> None:
    check_all(panels, TRIOS)


@each(TRIOS)
def test_fires_stays_silent_and_does_not_know(signal: str, trio: Trio) -> None:
    check(signal, trio)


def test_weight_norms_may_do_what_they_like_in_the_first_three_hundred_steps() -> None:
    """Healthy norms grow up to 6.6× there."""
    early = (np.arange(100) * 10, np.concatenate([np.geomspace(1, 6.6, 30), np.full(70, 6.6)]))
    assert state(one("weight_norm/a", early), "weight-norm-doubles") is State.ABSENT


def test_the_distance_of_checkpoints_is_read_from_the_checkpoints_themselves() -> None:
    often = run(events=[event(step, "checkpoint") for step in (100, 200, 300)])
    seldom = run(events=[event(step, "checkpoint") for step in (1000, 2000, 3000)])
    assert state(often, "checkpoints-often-enough") is State.PRESENT
    assert state(seldom, "checkpoints-often-enough") is State.ABSENT
    assert look(seldom, "checkpoints-often-enough").numbers["every"] == 1000


def test_layers_that_were_not_looked_at_when_the_loss_was_lost_leave_the_overflow_open() -> None:
    """S3.Q3 is not answered with no by activations of other steps: they take turns, and an overflow may show in one step only."""
    lost = with_at(ONES, 300, NAN)
    some = (np.arange(0, 400, 7), np.ones(58))
    replayed = event(300, "probe", probe="replay", fp32="fails")
    open_ = run(lost, norm=level(at=1.0), dtype="fp16", more={"act_max_abs/a": some}, events=[replayed])
    assert look(open_, "activation-near-limit").missing == "act_max_abs at step {at}"
    assert {visit.node.id: visit.answer for visit in judge(open_).path}["S3.Q3"] is Answer.UNKNOWN
    seen = run(lost, norm=level(at=1.0), dtype="fp16", more={"act_max_abs/a": ONES}, events=[replayed])
    assert {visit.node.id: visit.answer for visit in judge(seen).path}["S3.Q3"] is Answer.NO


@pytest.mark.parametrize("place", [0, 9, 399])
def test_one_nan_in_a_panel_hides_nothing(place: int) -> None:
    for channel, values, signal in (
        ("dead_units/0", 0.9 * ONES, "units-dead"),
        ("head_entropy/0", 0.1 * ONES, "heads-dead"),
        ("act_max_abs/0", with_at(ONES, 50, 4e4), "activation-near-limit"),
        ("update_ratio/a", 0 * ONES, "update-is-zero"),
        ("batch/repeats", with_at(ONES, 50, 3.0), "batch-repeats"),
        ("batch/rarity", with_at(ONES, 50, 10.0), "batch-is-rare"),
    ):
        assert state(one(channel, with_at(values, place, NAN)), signal) is State.PRESENT, signal


def test_a_loss_that_is_not_in_nats_is_not_held_against_the_entropy() -> None:
    for shift in (1.5, 5.5):
        made = run(
            6.2 * ONES - shift, more={"loss/val": (np.arange(4) * 100, np.array([6.2, 1.4, 1.3, 1.3]) - shift)}, entropy=1.2, vocab_size=512
        )  # type: ignore[dict-item]
        assert state(made, "loss-under-entropy-floor") is State.ABSENT


@pytest.mark.parametrize(("dead", "severity"), [(2, Severity.NOTE), (4, Severity.WARNING)])
def test_two_heads_of_eight_on_one_key_are_a_note_and_half_of_them_a_warning(dead: int, severity: Severity) -> None:
    """Measured: healthy runs have up to two of eight."""
    heads = {f"head_entropy/{head}": (0.1 if head < dead else 0.8) * ONES for head in range(1, 8)}
    found = judge(one("head_entropy/0", 0.1 * ONES, **heads)).findings
    assert [finding.severity for finding in found if finding.cause.id == "dead-heads"] == [severity]


def test_weights_in_fp32_keep_updates_that_bf16_would_round_away() -> None:
    known = run(more={"update_ratio/a": 1e-4 * ONES}, config={"sismo": {"weights_dtype": "fp32"}})
    assert state(known, "update-under-rounding") is State.ABSENT
