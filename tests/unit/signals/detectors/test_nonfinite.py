"""Where a training loss stops being a number."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.runs import Rows, alarms, event, falling, level, look, names, run, state, with_at
from support.trios import Trio, check, check_all, each

import sismo
from sismo.judge import judge
from sismo.records.types import Note, Run
from sismo.signals.detectors import nonfinite
from sismo.signals.types import State

NAN, INF = float("nan"), float("inf")
CALM = falling(400)
NORM = level(400, 1.0, 0.1)
FOREVER = np.where(np.arange(400) < 200, CALM, NAN)
ONCE = with_at(CALM, 200, NAN)
SOON, PARTIAL = ([49, 50, 51, 52], [2.6, 2.5, NAN, NAN]), Note("partial-log", "the log starts late")


def table(loss: Rows, *notes: Note) -> Run:
    """A CSV file."""
    made = run(loss=loss, notes=notes)
    return replace(made, header=made.header._replace(source="csv"))


NOTHING = run(norm=NORM)
LATE = run(loss=(np.arange(1, 41) * 10, np.full(40, NAN)))

TRIOS = {
    "loss-nonfinite": Trio(run(loss=ONCE), run(loss=CALM, val={10: NAN}), NOTHING),
    "loss-nonfinite-forever": Trio(run(loss=FOREVER), run(loss=with_at(FOREVER, 399, 2.0)), NOTHING),
    "loss-nonfinite-isolated": Trio(run(loss=ONCE), run(loss=FOREVER), NOTHING),
    "loss-nonfinite-from-first-row": Trio(run(loss=with_at(CALM, 0, NAN)), run(loss=with_at(CALM, 1, NAN)), NOTHING),
    "loss-nonfinite-at-first-step": Trio(run(loss=with_at(CALM, 0, NAN)), LATE, NOTHING),
    "loss-nonfinite-before-first-row": Trio(LATE, run(loss=with_at(CALM, 0, NAN)), NOTHING),
    "loss-lost-too-early-to-tell": Trio(run(loss=[3.0, NAN, NAN]), run(loss=[3.0, 2.9, NAN, NAN]), NOTHING),
    "loss-inf-first": Trio(run(loss=with_at(CALM, 200, INF, NAN)), run(loss=with_at(CALM, 200, NAN, INF)), NOTHING),
    "loss-nonfinite-last-row-only": Trio(
        run(loss=([*range(0, 400, 10), 393], [*CALM[:40], NAN])), run(loss=([*range(0, 410, 10)], [*CALM[:40], NAN])), NOTHING
    ),
    "loss-nonfinite-once-an-epoch": Trio(
        run(loss=np.where(np.arange(400) % 100 == 99, NAN, CALM)),
        run(loss=np.where(np.isin(np.arange(400), [9, 30, 200, 260]), NAN, CALM)),
        NOTHING,
    ),
    "loss-nonfinite-after-resume": Trio(
        run(loss=FOREVER, events=[event(200, "resume")]), run(loss=FOREVER, events=[event(100, "resume")]), NOTHING
    ),
    "loss-nonfinite-after-late-start": Trio(table(SOON, PARTIAL), run(loss=SOON, notes=[PARTIAL]), NOTHING),
    "norm-finite-before-nonfinite-loss": Trio(
        run(loss=FOREVER, norm=NORM), run(loss=FOREVER, norm=with_at(NORM, 190, INF)), run(loss=FOREVER)
    ),
    "norm-nonfinite-before-loss": Trio(
        run(loss=FOREVER, norm=with_at(NORM, 199, NAN)), run(loss=FOREVER, norm=with_at(NORM, 200, NAN)), run(loss=FOREVER)
    ),
}


def test_every_signal_of_the_file_is_tried() -> None:
    check_all(nonfinite, TRIOS)


@each(TRIOS)
def test_fires_stays_silent_and_does_not_know(signal: str, trio: Trio) -> None:
    check(signal, trio)


def test_the_first_bad_row_is_where_it_starts_and_all_are_counted() -> None:
    seen = look(run(loss=with_at(CALM, 200, INF, NAN, 2.0, NAN)), "loss-nonfinite")
    assert (seen.start, seen.end, seen.numbers["count"], seen.numbers["rows"]) == (200, 203, 3, 400)


def test_a_run_that_is_nan_for_ever_is_one_verdict_and_not_one_alert_a_row() -> None:
    """1,400 rows of NaN: other tools print 1,400 lines."""
    made = run(loss=np.where(np.arange(1600) < 200, falling(1600), NAN), norm=np.where(np.arange(1600) < 200, level(1600, 1, 0.1), NAN))
    document = sismo.diagnose(made)
    assert document.healthy is False
    assert document.step in (199, 200)
    assert len(document.causes) <= 6
    assert sum(len(cause.evidence) for cause in document.causes) < 30


def test_a_metric_that_is_nan_is_not_a_lost_loss() -> None:
    made = run(loss=CALM, norm=NORM, more={"metric/auc": np.full(400, NAN), "metric/ap": with_at(CALM, 3, NAN)})
    assert state(made, "loss-nonfinite") is State.ABSENT
    assert alarms(made) == []


@pytest.mark.parametrize("dtype", [None, "fp32", "bf16", "fp16"])
@pytest.mark.parametrize("value", [NAN, INF])
def test_a_loss_lost_for_ever_is_never_healthy(dtype: str | None, value: float) -> None:
    made = run(loss=np.where(np.arange(400) < 200, CALM, value), norm=NORM, dtype=dtype)
    assert judge(made).healthy is False


@pytest.mark.parametrize("dtype", [None, "fp32", "bf16", "fp16"])
def test_a_log_without_a_single_finite_loss_is_never_healthy(dtype: str | None) -> None:
    """Logged every 10 steps, so the first row comes after the failure and nothing is known of how it came."""
    rows = np.arange(1, 101) * 10
    made = run(loss=(rows, np.full(100, NAN)), norm=(rows, np.full(100, NAN)), dtype=dtype)
    assert judge(made).healthy is False


@pytest.mark.parametrize("finite", [1, 2, 3, 5, 19])
@pytest.mark.parametrize("lost", [1, 2, 30, 400])
def test_a_few_finite_rows_and_then_none_is_never_healthy(finite: int, lost: int) -> None:
    assert judge(run(loss=np.concatenate([falling(finite), np.full(lost, NAN)]))).healthy is False


@pytest.mark.parametrize("dtype", [None, "fp32", "bf16", "fp16"])
@pytest.mark.parametrize("row", [1, 5, 200, 398, 399])
def test_one_lost_row_is_never_healthy(dtype: str | None, row: int) -> None:
    assert judge(run(loss=with_at(CALM, row, NAN), norm=NORM, dtype=dtype)).healthy is False


def test_a_run_that_is_lost_abruptly_in_fp16_is_first_an_overflow() -> None:
    """S1.Q2: fp16 means that an activation passed 65504."""
    assert names(run(loss=FOREVER, dtype="fp16"))[0] == "fp16-overflow"


def test_a_table_that_starts_late_and_is_lost_at_once_is_a_resume_that_lost_its_state() -> None:
    assert names(table(SOON, PARTIAL))[0] == "resume-lost-optimizer"
    assert "resume-lost-optimizer" not in names(run(loss=SOON, notes=[PARTIAL])), "lines cut out around a failure start late as well"
    assert "resume-lost-optimizer" not in names(table(([0, 1, 2, 3], SOON[1]))), "the start of the run"


def test_the_first_epoch_is_not_the_first_step() -> None:
    """Many updates lie before the row of the first epoch: what was fed is the first guess still, and the log cannot tell."""
    loss = (np.arange(1, 6), np.full(5, NAN))
    by_step = {found.cause.id: found.confidence for found in judge(run(loss=loss)).findings}
    by_epoch = {found.cause.id: found.confidence for found in judge(run(loss=loss, step_unit="epoch")).findings}
    assert "lost-before-log" in by_epoch
    assert "lost-before-log" not in by_step
    assert by_epoch["nonfinite-input"] < by_step["nonfinite-input"]
