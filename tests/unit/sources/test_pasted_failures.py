"""Logs as people paste them: what a run died of, told in words or by the row that is missing."""

# ruff: noqa: E501 - lines of logs are as long as they are
from __future__ import annotations

import math
from pathlib import Path

import pytest
from support.pasted import first_cause, read
from support.runs import points

from sismo.judge import judge
from sismo.signals.presets import preset


def test_the_last_words_of_detectron_are_the_row_that_it_died_of(tmp_path: Path) -> None:
    line = "[03/04 10:00:{0:02d} d2.utils.events]: eta: 1:02:03  iter: {0}  total_loss: {1}  loss_cls: 1.1  loss_box_reg: 0.4  lr: {2}"
    text = "\n".join(line.format(step, loss, step * 2e-5) for step, loss in [(19, 1.6), (39, 1.5), (59, 1.55), (79, 1.5), (99, 4.0)])
    end = "\nTraceback (most recent call last):\nFloatingPointError: Loss became infinite or NaN at iteration=104!\nloss_dict = {'loss_cls': tensor(nan, device='cuda:0'), 'loss_box_reg': tensor(0.31, device='cuda:0')}\n"
    run = read(tmp_path, text + end)
    assert math.isnan(points(run, "loss/train")[104])
    assert math.isnan(points(run, "loss_term/cls")[104])
    assert points(run, "loss_term/cls")[99] == 1.1
    assert run.events_of("crash")
    assert first_cause(run) == "lr-too-high"  # it climbs in warmup, and the loss with it


@pytest.mark.parametrize("said", ["Loss became infinite or NaN at iteration=107!", "Loss became NaN at iteration 107"])
def test_that_a_run_died_between_two_rows_says_nothing_of_a_short_last_batch(said: str, tmp_path: Path) -> None:
    line = "[03/04 10:00:01 d2.utils.events]: eta: 1:02:03  iter: {}  total_loss: {}  loss_cls: 1.1  loss_box_reg: 0.4  lr: 0.01\n"
    text = "".join(line.format(step, 1.5 + step % 7 / 50) for step in range(19, 104, 20))
    assert first_cause(read(tmp_path, text + line.format(107, "nan"))) == "batch-norm-batch-1"
    run = read(tmp_path, f"{text}Traceback (most recent call last):\nFloatingPointError: {said}\n")
    assert math.isnan(points(run, "loss/train")[107])
    assert "batch-norm-batch-1" not in {found.cause.id for found in judge(run, preset("robust")).findings}


@pytest.mark.parametrize(
    "line",
    [
        "[node:0/2] 2024-02-03 04:05:06,789 (ctc:66) WARNING: All samples in this mini-batch got nan grad. Returning nan value instead of CTC loss",
        "(ctc:74) WARNING: 3/16 samples got nan grad. These were ignored for CTC loss.",
        "2024-02-03 04:05:06,789 (e2e_asr_attctc:91) WARNING: loss (=125000032.000000) is not correct",
        "InvalidArgumentError: Not enough time for target transition sequence (required: 31, available: 22)",
    ],
)
def test_a_target_that_is_too_long_for_its_input_is_named(line: str, tmp_path: Path) -> None:
    run = read(
        tmp_path, f"step 1 loss 40.5\n{line}\nstep 2 loss 39.0\n(trainer:582) WARNING: The grad norm is nan. Skipping updating the model.\n"
    )
    assert first_cause(run) == "ctc-target-too-long"


def test_norms_that_are_lost_where_no_loss_is_printed_are_told(tmp_path: Path) -> None:
    line = " iteration {:8d}/   90000 | learning rate: 2.1E-04 | loss scale: 1.0 | grad norm: nan | number of skipped iterations:   0 | number of nan iterations:   0 |\n"
    assert first_cause(read(tmp_path, "".join(line.format(step) for step in range(700, 705)))) == "nan-hidden-by-logger"


def test_numbers_that_paddle_fills_up_with_letters_are_lost(tmp_path: Path) -> None:
    line = "[2024/01/02 03:04:05] ppocr INFO: epoch: [1/90], global_step: {}, lr: 0.000002, acc: 0.000000, CTCLoss: nanxxx, loss: nanxxx, ips: 67.6 samples/s\n"
    run = read(tmp_path, line.format(10) + line.format(20))
    assert len(run.series["loss/train"]) == 2
    assert first_cause(run) == "lost-before-log"


@pytest.mark.parametrize(
    "line",
    [
        "ERROR:tensorflow:Model diverged with loss = NaN.",
        "NanLossDuringTrainingError: NaN loss during training.",
        "Loss exploded to nan at step 12!",
    ],
)
def test_the_last_words_of_a_trainer_that_does_not_log_the_row(line: str, tmp_path: Path) -> None:
    run = read(tmp_path, f"INFO:tensorflow:loss = 2.25, step = 1\nINFO:tensorflow:loss = 2.1, step = 11 (1.2 sec)\n{line}\n")
    assert first_cause(run) == "nonfinite-loss-in-words"


def test_a_lost_mean_of_the_loss_is_not_called_a_metric(tmp_path: Path) -> None:
    run = read(tmp_path, "".join(f"Epoch {e}: loss=2.5 acc=0.1\nMean Training loss : nan\n" for e in (1, 2)))
    assert "metric-nan-only" not in [note.code for note in run.notes]


def test_a_check_of_the_label_that_failed_names_the_label(tmp_path: Path) -> None:
    assert first_cause(read(tmp_path, "F0203 04:05:06.789 123 bbox_util.cu:599] Check failed: label < num_classes (7 vs. 7)\n")) == (
        "label-out-of-range"
    )


@pytest.mark.parametrize("loss", ["0.0000", "31.5000"])
def test_a_nan_that_the_trainer_replaces_by_zero_is_told(loss: str, tmp_path: Path) -> None:
    row = "Epoch: [3][{}/900]\tTime 0.672 (0.812)\tLoss {} (30.5)\nWARNING: received a nan loss, setting loss value to 0\n"
    assert first_cause(read(tmp_path, "".join(row.format(batch, loss) for batch in range(40, 44)))) == "nonfinite-loss-in-words"


def test_a_resume_is_judged_by_the_rows_that_it_logged_again(tmp_path: Path) -> None:
    row = "Epoch: [7][{}/900]\tLoss {} (2.0)\n"
    earlier = "".join(row.format(100 * k, loss) for k, loss in enumerate([1.91, 1.84, 1.88, 1.86, 1.82]))
    again = "".join(row.format(100 * k, loss) for k, loss in enumerate([6.2, 5.4, 4.9, 4.6]))
    text = earlier + "=> loading checkpoint 'a.pth'\n=> loaded checkpoint 'a.pth' (epoch 7)\n" + again
    assert first_cause(read(tmp_path, text)) == "resume-jumps-data"
    seamless = earlier + "=> loaded checkpoint 'a.pth' (epoch 7)\n" + earlier
    assert first_cause(read(tmp_path, seamless)) != "resume-jumps-data"


def test_a_validation_loss_that_swings_up_and_down_all_along_is_no_overfitting(tmp_path: Path) -> None:
    train = [2.1, 1.6, 1.1, 0.9, 0.6, 0.5, 0.4, 0.3, 0.25, 0.3]

    def log(val: list[float]) -> str:
        return "\n".join(f"epoch {k + 1} train loss: {a:.2f} val_loss: {b:.2f}" for k, (a, b) in enumerate(zip(train, val, strict=True)))

    assert first_cause(read(tmp_path, log([3.1, 0.9, 1.5, 1.9, 0.6, 2.2, 0.2, 1.6, 0.15, 2.6]))) == ""
    assert first_cause(read(tmp_path, log([2.0, 1.7, 1.4, 1.2, 1.05, 0.96, 0.9, 0.97, 1.1, 1.3]))) == "overfitting"


def test_a_warning_of_a_lost_loss_is_no_row_beside_those_of_the_bar(tmp_path: Path) -> None:
    good = [f"Steps:   1%|  | {k}/900 [00:{k}<10:00,  1.38s/it, loss={0.2 - k / 1000:.4f}, lr=1e-5]\n" for k in range(10, 20)]
    lost = [
        "Warning: loss is NaN, skipping this step\n" * 3 + f"Steps:   2%|  | {k}/900 [00:{k}<10:00,  1.38s/it, loss=nan, lr=1e-5]\n"
        for k in range(20, 26)
    ]
    losses = points(read(tmp_path, "".join(good + lost)), "loss/train")
    assert (len(losses), losses[10]) == (16, 0.19)
    assert math.isnan(losses[20])


@pytest.mark.parametrize(
    ("function", "cause"),
    [
        ("LogBackward0", "log-of-zero"),
        ("SqrtBackward0", "sqrt-at-zero"),
        ("DivBackward0", "zero-over-zero"),
    ],
)
def test_what_anomaly_detection_found_is_the_cause_though_no_row_is_lost(function: str, cause: str, tmp_path: Path) -> None:
    rows = "".join(f"it {step} loss {1 + 1 / (1 + step / 9):.4f}\n" for step in range(40))
    end = f"Traceback (most recent call last):\n    loss.backward()\nRuntimeError: Function '{function}' returned nan values in its 0th output.\n"
    assert first_cause(read(tmp_path, rows + end)) == cause
