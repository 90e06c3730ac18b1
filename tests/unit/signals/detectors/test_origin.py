"""Where in a recorded step the first number that is not finite stands."""

from __future__ import annotations

import numpy as np
import pytest
from support.runs import event, falling, names, run, with_at
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
    "only-loss-nan": Trio(recorded("act_nonfinite", 0.0, 0.0), recorded("act_nonfinite", 0.0, 3.0), run(loss=LOST)),
    "only-loss-infinite": Trio(
        run(loss=with_at(falling(400), 300, np.inf), more={"act_nonfinite/a": {200: 0.0, 300: 0.0}}),
        recorded("act_nonfinite", 0.0, 0.0),
        run(loss=LOST, more={"act_nonfinite/a": {200: 0.0, 300: 0.0}, "act_nonfinite/output": {200: 0.0}}),
    ),
    "weight-nonfinite-first": Trio(recorded("spectral", NAN, 2.0), recorded("spectral", NAN, NAN), run(loss=LOST)),
}


def test_every_signal_of_the_file_is_tried() -> None:
    check_all(origin, TRIOS)


@each(TRIOS)
def test_fires_stays_silent_and_does_not_know(signal: str, trio: Trio) -> None:
    check(signal, trio)


@pytest.mark.parametrize(("bad", "norm", "first"), [
    ((0.0, 7.0), None, "nonfinite-weight"),
    ((5.0, 7.0), 1.0, "nonfinite-weight"),
    ((5.0, 7.0), None, "log-of-zero"),
    ((0.0, 0.0), 1.0, "log-of-zero"),
])  # fmt: skip
def test_weights_that_were_bad_before_the_update_are_the_cause_unless_the_update_before_it_lost_them(
    bad: tuple[float, float], norm: float | None, first: str
) -> None:
    counts = {f"weight_nonfinite/{name}": {300: count} for name, count in zip("ab", bad, strict=True)}
    norms = None if norm is None else np.where(np.arange(400) < 300, norm, NAN)
    made = run(loss=LOST, norm=norms, more=counts, dtype="fp32")
    assert names(made)[0] == first
    assert ("nonfinite-weight" in names(made)) is (first == "nonfinite-weight")


ALONE = {"act_nonfinite/a": {200: 0.0, 300: 0.0}}


def test_a_loss_that_is_nan_on_single_batches_by_itself_is_a_mean_over_nothing() -> None:
    assert names(run(loss=with_at(falling(400), 300, NAN), more=ALONE, dtype="fp32"))[0] == "zero-over-zero"


def test_a_loss_that_is_infinite_by_itself_is_a_log_of_zero_and_no_overflow_even_in_fp16() -> None:
    lost = run(loss=np.where(np.arange(400) < 300, falling(400), np.inf), more=ALONE, dtype="fp16")
    assert names(lost)[0] == "log-of-zero"
    assert "fp16-overflow" not in names(lost)


def test_a_division_that_the_probe_found_rules_out_batch_norm() -> None:
    proof = event(399, "probe", origin="found", op="div", where="loss")
    last = run(loss=(np.append(np.arange(0, 390, 10), 393), np.append(falling(39), NAN)), events=[proof])
    assert "batch-norm-batch-1" not in names(last)


def test_a_matrix_that_a_lost_gradient_spoilt_is_not_where_it_began() -> None:
    looks = {"spectral/a": {200: 1.0, 300: NAN}, "spectral/b": {200: 1.0, 300: 2.0}}
    assert names(run(loss=LOST, norm=np.ones(400), more=looks))[0] == "nonfinite-weight"
    assert names(run(loss=LOST, norm=with_at(np.ones(400), 299, NAN), more=looks))[0] == "inf-into-optimizer"
