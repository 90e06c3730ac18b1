"""Logs as people paste them into a bug report: tables out of notebooks, the last words of a trainer, keys in brackets."""

# ruff: noqa: E501 - lines of logs are as long as they are
from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from support.runs import points

import sismo
from sismo.errors import UnrecognisedLog
from sismo.judge import judge
from sismo.records.types import Run
from sismo.signals.presets import preset
from sismo.sources import load


def read(tmp_path: Path, text: str) -> Run:
    path = tmp_path / "pasted.log"
    path.write_text(text)
    (run,) = load(path)
    return run


def first_cause(run: Run) -> str:
    return next((found.cause.id for found in judge(run, preset("robust")).findings if found.severity.rank), "")


def test_a_table_with_bars_between_its_columns_and_none_around_them(tmp_path: Path) -> None:
    run = read(
        tmp_path, "Step | Training Loss | Validation Loss | Cer\n-- | -- | -- | --\n250 | 3.1200 | 2.9100 | 0.8\n500 | No log | 2.4 | 0.6\n"
    )
    assert points(run, "loss/train") == {250: 3.12}
    assert points(run, "loss/val") == {250: 2.91, 500: 2.4}


def test_lost_losses_that_stand_in_wide_columns_are_no_heading_of_a_table(tmp_path: Path) -> None:
    rows = [
        "step 41 - loss 7.125 - moving ave loss 8.5",
        *(f"step {step} - loss        nan - moving ave loss        nan" for step in (42, 43)),
    ]
    losses = points(read(tmp_path, "\n".join(rows) + "\n"), "loss/train")
    assert list(losses) == [41, 42, 43]
    assert math.isnan(losses[42])
    assert math.isnan(losses[43])


def test_a_bar_of_keras_that_counts_past_its_end_is_full(tmp_path: Path) -> None:
    epoch = "Epoch {0}/2\n31/30 [==============================] - 903s - loss: {1} - val_loss: 0.7\n"
    assert points(read(tmp_path, epoch.format(1, 0.9) + epoch.format(2, 0.8)), "loss/train") == {1: 0.9, 2: 0.8}


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


SSD = "Epoch:{0} || epochiter: {1}/50|| Totel iter {2} || L: {3} C: {4}||Batch time: 0.4131 sec. ||LR: 0.00400000"
RETINA = (
    "Epoch:{0}/9 || Epochiter: {1}/50 || Iter: {2}/450 || Loc: {3} Cla: {4} Landm: 0.5 || LR: 0.004 || Batchtime: 0.3 s || ETA: 0:11:02"
)


@pytest.mark.parametrize(("line", "more"), [(SSD, 0.0), (RETINA, 0.5)])
def test_the_terms_of_ssd_are_told_by_their_letters(line: str, more: float, tmp_path: Path) -> None:
    rows = [line.format(1, step, step, 2.25, "nan" if step == 40 else 4.5) for step in range(10, 50, 10)]
    run = read(tmp_path, "\n".join(["Loading Dataset...", *rows]))
    losses = points(run, "loss/train")
    assert [losses[step] for step in (10, 20, 30)] == [6.75 + more] * 3
    assert math.isnan(losses[40])
    assert points(run, "lr/0")[10] == 0.004


def test_a_letter_with_a_number_is_a_term_only_between_double_bars(tmp_path: Path) -> None:
    with pytest.raises(UnrecognisedLog):
        read(tmp_path, "".join(f"step {step} L: 2.5 C: 4.5\n" for step in range(9)))


def test_keys_in_brackets_are_keys(tmp_path: Path) -> None:
    run = read(
        tmp_path, "".join(f"INFO | [R0] | E{e} iter[ 4/ 5] | [Loss] {9.5 - e} | [step] {5 * e + 4} | [time] 0.2m\n" for e in range(3))
    )
    assert points(run, "loss/train") == {4: 9.5, 9: 8.5, 14: 7.5}


def test_the_losses_of_two_networks_have_no_word_for_it(tmp_path: Path) -> None:
    line = "(epoch: 3, iters: {}, time: 0.412, data: 0.002) D_A: 0.21 G_A: 0.64 cycle_A: 1.5 D_B: 0.18 G_B: 0.70 cycle_B: 1.25 \n"
    run = read(tmp_path, line.format(100) + line.format(200))
    assert run.header.objective == "gan"
    assert np.allclose(run.series["loss/train"].values, 0.21 + 0.64 + 1.5 + 0.18 + 0.70 + 1.25)


def test_the_logarithm_of_a_scale_is_told_as_a_scale(tmp_path: Path) -> None:
    table = "| grad_norm     | 0.2 |\n| lg_loss_scale | 20.01 |\n| loss          | {} |\n| step          | {} |\n"
    run = read(tmp_path, table.format(0.3, 10) + "Found NaN, decreased lg_loss_scale to 19.010000000000002\n" + table.format(0.25, 20))
    (overflow,) = run.events_of("overflow")
    assert overflow.data["scale_after"] == pytest.approx(2.0**19.01)
    assert not run.events_of("warning")
    assert float(run.series["loss_scale"].values.max()) == pytest.approx(2.0**19.01)
    assert first_cause(run) == ""


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


def test_a_scale_of_one_that_is_reduced_to_one_is_at_its_end(tmp_path: Path) -> None:
    line = "[deepscale] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 1, reducing to 1\n"
    run = read(tmp_path, "".join(f"{line}  0%|  | {step}/9000 [00:40<1:00:00,  2.50it/s]\n" for step in range(51, 57)))
    assert first_cause(run) == "loss-scale-collapse"
    assert "placeholder-values" not in [note.code for note in run.notes]


def test_a_search_that_begins_low_is_not_taken_for_the_start_of_the_run(tmp_path: Path) -> None:
    line = "| INFO | fairseq.trainer | NOTE: gradient overflow detected, ignoring gradient, setting loss scale to: {}\n"
    assert first_cause(read(tmp_path, "".join(line.format(64.0 / 2**k) for k in range(4)))) == ""
    apex = "Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to {}\n"
    assert first_cause(read(tmp_path, "".join(apex.format(3.1e-300 / 2**k) for k in range(4)))) == "loss-scale-collapse"


def test_norms_that_are_lost_where_no_loss_is_printed_are_told(tmp_path: Path) -> None:
    line = " iteration {:8d}/   90000 | learning rate: 2.1E-04 | loss scale: 1.0 | grad norm: nan | number of skipped iterations:   0 | number of nan iterations:   0 |\n"
    assert first_cause(read(tmp_path, "".join(line.format(step) for step in range(700, 705)))) == "nan-hidden-by-logger"


def test_numbers_that_paddle_fills_up_with_letters_are_lost(tmp_path: Path) -> None:
    line = "[2024/01/02 03:04:05] ppocr INFO: epoch: [1/90], global_step: {}, lr: 0.000002, acc: 0.000000, CTCLoss: nanxxx, loss: nanxxx, ips: 67.6 samples/s\n"
    run = read(tmp_path, line.format(10) + line.format(20))
    assert len(run.series["loss/train"]) == 2
    assert first_cause(run) == "lost-before-log"


def test_keys_in_quotes_are_read_without_them(tmp_path: Path) -> None:
    line = "2021-02-03 04:05:06,789-INFO: epoch: 0, iter: {0}, lr: 0.000004, 'loss': {1}, 'acc': 0.1, time: 2.346\n"
    assert points(read(tmp_path, line.format(2, 4.5) + line.format(4, 4.25)), "loss/train") == {2: 4.5, 4: 4.25}


def test_an_arrow_is_no_comparison_of_code(tmp_path: Path) -> None:
    run = read(
        tmp_path,
        "".join(
            f"2021-02-03 04:05:06     # =====> Epoch: {e} Average gen loss = 0.8{e}, KLD = 3.1, total loss = 0.9{e}\n" for e in (1, 2, 3)
        ),
    )
    assert points(run, "loss/train") == {1: 0.91, 2: 0.92, 3: 0.93}
    with pytest.raises(UnrecognisedLog):
        read(tmp_path, "if epoch == 3 and loss == 0.5: stop = 1\n")


def test_where_no_epoch_of_keras_ends_its_bar_is_read(tmp_path: Path) -> None:
    bar = "{:3d}/102 [=>............................] - ETA: 8:30 - loss: {} - accuracy: 0.5\n"
    run = read(tmp_path, "".join(bar.format(count, loss) for count, loss in [(1, 0.7), (2, 0.69), (3, 0.66)]))
    assert points(run, "loss/train") == {1: 0.7, 2: 0.69, 3: 0.66}
    assert "smoothed-loss" in [note.code for note in run.notes]


def test_the_place_in_brackets_behind_a_loss_is_not_the_loss(tmp_path: Path) -> None:
    text = "".join(f"Loss [{e}, {b}](epoch, minibatch):  {9.5 - e - b / 1000}\n" for e in (1, 2) for b in (100, 200))
    assert read(tmp_path, text).series["loss/train"].values.tolist() == [8.4, 8.3, 7.4, 7.3]


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


@pytest.mark.parametrize(
    "line",
    [
        "[{step}/6000] loss: {loss}, lr: 0.001\n",
        "{step}/6000 loss: {loss} acc: 0.5\n",
        "Training [>>>       ] {step}/6000, loss={loss}, lr=2.0e-04\n",
        "loss: {loss}  [{step:5d}/60000]\n",
        "2024-01-02 03:04:05 ({step}/6000) loss: {loss}\n",
        "{step}: loss {loss}\n",
        "{step:06d} | loss {loss} | lr 0.001\n",
        "{step} [D loss: {loss}, acc.: 50.00%]\n",
        "batch {step}/6000 loss={loss}\n",
        "Loss after {step} steps: {loss}\n",
        "Training loss (for one batch) at step {step}: {loss}\n",
        "Average loss: {loss} at step {step}\n",
    ],
)
def test_a_counter_without_a_name_is_the_step_where_it_goes_on(line: str, tmp_path: Path) -> None:
    losses = {150: 2.5, 300: 2.25, 450: 2.125}
    run = read(tmp_path, "".join(line.format(step=step, loss=loss) for step, loss in losses.items()))
    assert points(run, "loss/train") == losses


@pytest.mark.parametrize("line", ["loss: {loss}  [{batch:3d}/400]\n", "batch {batch} loss: {loss}\n", "[{batch}/400] loss: {loss}\n"])
def test_a_counter_under_the_heading_of_an_epoch_is_one_within_it(line: str, tmp_path: Path) -> None:
    epochs = ["".join(line.format(batch=batch, loss=4.5 - epoch - batch / 800) for batch in (200, 400)) for epoch in (1, 2)]
    run = read(tmp_path, f"Epoch 1\n-------\n{epochs[0]}Epoch 2\n-------\n{epochs[1]}")
    assert points(run, "loss/train") == {200: 3.25, 400: 3.0, 600: 2.25, 800: 2.0}


def test_the_epoch_and_batch_of_a_tutorial_are_told_apart(tmp_path: Path) -> None:
    text = "".join(f"[{epoch}, {batch:5d}] loss: {4.5 - epoch - batch / 800}\n" for epoch in (1, 2) for batch in (200, 400))
    assert points(read(tmp_path, text), "loss/train") == {200: 3.25, 400: 3.0, 600: 2.25, 800: 2.0}


def test_a_bare_number_that_does_not_rise_evenly_is_no_step(tmp_path: Path) -> None:
    run = read(tmp_path, "".join(f"{number} loss {loss}\n" for number, loss in [(3, 2.5), (40, 2.25), (41, 2.125), (97, 2.0)]))
    assert points(run, "loss/train") == {1: 2.5, 2: 2.25, 3: 2.125, 4: 2.0}


def test_a_bar_over_all_epochs_counts_the_steps_of_the_run(tmp_path: Path) -> None:
    bar = "steps:   1%|#         | {count}/2700 [00:50<1:06:54,  1.24s/it, avr_loss=nan]\n"
    run = read(tmp_path, "".join(f"epoch {epoch}/60\n{bar.format(count=45 * epoch)}" for epoch in (1, 2, 3)))
    assert run.series["loss/train"].steps.tolist() == [45, 90, 135]
    assert first_cause(run) == "lost-before-log"


@pytest.mark.parametrize(
    "line",
    [
        "20-01-02 03:04:05.678 - INFO: [epoch:  4, iter: {step:7,d}, lr:(1.000e-04,)] l_pix: {loss:.4e} l_d_real: 1.5000e-01 D_real: 1.9e+01\n",
        "2022-01-02 03:04:05,678 INFO: [Model..][epoch:  4, iter: {step:7,d}, lr:(1.000e-04,)] [eta: 2 days, 0:29:59, time (data): 0.651 (0.002)] l_pix: {loss:.4e} l_d_real: 1.5000e-01\n",
        "20-01-02 03:04:05.678 - INFO: <epoch:  4, iter: {step:7,d}, lr:1.000e-04> l_pix: {loss:.4e} l_d_real: 1.5000e-01\n",
    ],
)
def test_lines_of_basicsr_are_read(line: str, tmp_path: Path) -> None:
    run = read(tmp_path, "".join(line.format(step=step, loss=loss) for step, loss in [(900, 0.0625), (1000, 0.05)]))
    assert points(run, "loss_term/pix") == {900: 0.0625, 1000: 0.05}
    assert points(run, "loss_term/d_real") == {900: 0.15, 1000: 0.15}
    assert points(run, "lr/0") == {900: 0.0001, 1000: 0.0001}
    assert not any("eta" in name for name in run.series)


APEX = "Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to {}\n"


def test_a_scale_that_is_reduced_to_the_same_value_again_has_doubled_between(tmp_path: Path) -> None:
    row = "[ Tue Feb 13 04:05:06 2024 ] Mean training loss: {} (BS 32: 2.5).\n"
    run = read(tmp_path, "".join(APEX.format(65536.0) + row.format(loss) for loss in (2.5, 2.25, 2.125)))
    assert [event.data for event in run.events if event.kind == "overflow"] == [{"scale_before": 131072.0, "scale_after": 65536.0}] * 3
    assert sismo.diagnose(run).healthy is not False
    assert not any("Tue" in name for name in run.series)


def test_a_scale_that_goes_under_one_is_no_matter_of_the_model(tmp_path: Path) -> None:
    assert first_cause(read(tmp_path, "".join(APEX.format(16384 / 2**k) for k in range(36)))) == "loss-scale-collapse"


def test_a_fall_through_the_whole_range_in_the_middle_of_a_run_is_a_collapse(tmp_path: Path) -> None:
    epochs = "".join(f"Epoch: {e}\nValidation loss {5000 + 400 * e}:  {loss}\n" for e, loss in [(4, 0.21), (5, 0.2), (6, 0.19)])
    text = epochs + "".join(APEX.format(512.0 / 2**k) for k in range(9)) + "Epoch: 7\nValidation loss 7800:  0.93\n"
    assert first_cause(read(tmp_path, text)) == "loss-scale-collapse"


def test_a_check_of_the_label_that_failed_names_the_label(tmp_path: Path) -> None:
    assert first_cause(read(tmp_path, "F0203 04:05:06.789 123 bbox_util.cu:599] Check failed: label < num_classes (7 vs. 7)\n")) == (
        "label-out-of-range"
    )


@pytest.mark.parametrize("loss", ["0.0000", "31.5000"])
def test_a_nan_that_the_trainer_replaces_by_zero_is_told(loss: str, tmp_path: Path) -> None:
    row = "Epoch: [3][{}/900]\tTime 0.672 (0.812)\tLoss {} (30.5)\nWARNING: received a nan loss, setting loss value to 0\n"
    assert first_cause(read(tmp_path, "".join(row.format(batch, loss) for batch in range(40, 44)))) == "nonfinite-loss-in-words"


def test_the_name_of_a_logger_in_brackets_is_no_part_of_the_counter(tmp_path: Path) -> None:
    line = "2024-01-02 03:04:05,678 INFO    (__main__) Epoch: {}, Iteration: {}, Loss: {}\n"
    run = read(tmp_path, "".join(line.format(epoch, it, 9.5 - epoch - it / 40) for epoch in (2, 3) for it in (0, 10, 20)))
    assert len(run.series["loss/train"]) == 6


def test_a_resume_is_judged_by_the_rows_that_it_logged_again(tmp_path: Path) -> None:
    row = "Epoch: [7][{}/900]\tLoss {} (2.0)\n"
    earlier = "".join(row.format(100 * k, loss) for k, loss in enumerate([1.91, 1.84, 1.88, 1.86, 1.82]))
    again = "".join(row.format(100 * k, loss) for k, loss in enumerate([6.2, 5.4, 4.9, 4.6]))
    text = earlier + "=> loading checkpoint 'a.pth'\n=> loaded checkpoint 'a.pth' (epoch 7)\n" + again
    assert first_cause(read(tmp_path, text)) == "resume-jumps-data"
    seamless = earlier + "=> loaded checkpoint 'a.pth' (epoch 7)\n" + earlier
    assert first_cause(read(tmp_path, seamless)) != "resume-jumps-data"


def test_a_scale_that_stands_under_one_has_found_its_level(tmp_path: Path) -> None:
    line = '2021-01-05 23:13:26 | INFO | train | {{"epoch": {0}, "train_loss": "{1}", "train_num_updates": "{0}0", "train_loss_scale": "0.25", "train_gnorm": "7.1"}}\n'
    run = read(tmp_path, "".join(line.format(20 + k, loss) for k, loss in enumerate([410.5, 408.25, 407.5, 405.125])))
    assert first_cause(run) == ""


def test_a_counted_batch_of_the_validation_is_no_training_loss(tmp_path: Path) -> None:
    trained = "".join(f"[{step}/900] loss: {4.5 - step / 300}\n" for step in (300, 600, 900))
    run = read(tmp_path, f"{trained}Validation [20/40] loss: 1.75\nValidation [40/40] loss: 1.625\n")
    assert points(run, "loss/train") == {300: 3.5, 600: 2.5, 900: 1.5}
    assert run.series["loss/val"].values.tolist()[-1] == 1.625


def test_the_length_that_a_counter_runs_to_may_change(tmp_path: Path) -> None:
    text = "".join(f"[{step}/{500 if step < 400 else 900}] loss: {4.5 - step / 300}\n" for step in (150, 300, 450, 600))
    assert points(read(tmp_path, text), "loss/train") == {150: 4.0, 300: 3.5, 450: 3.0, 600: 2.5}


def test_the_quotes_that_a_forum_makes_curly_are_read_as_quotes(tmp_path: Path) -> None:
    lines = [f"{{‘loss’: {2.5 - 0.1 * k:.3f}, ‘learning_rate’: 1e-05, ‘epoch’: {0.2 * k:.1f}}}" for k in range(4)]
    assert list(points(read(tmp_path, "\n".join(lines)), "loss/train").values()) == [2.5, 2.4, 2.3, 2.2]


def test_where_a_log_has_perplexities_only_the_loss_is_their_logarithm(tmp_path: Path) -> None:
    lines = [f"Epoch 1 ; Iter {50 * k}/300 ; LR 1.0000 ; Target tokens/s 1300 ; PPL {math.exp(8 - k):.4f} ;" for k in range(1, 5)]
    run = read(tmp_path, "\n".join(lines))
    assert points(run, "loss/train") == {50 * k: pytest.approx(8 - k, abs=1e-4) for k in range(1, 5)}
    assert [note.code for note in run.notes if note.code == "guessed-loss"]


def test_the_batches_of_early_opennmt_are_steps(tmp_path: Path) -> None:
    lines = [
        f"Epoch  2, {50 * k:5d}/  725; acc:  31.20; ppl:  {math.exp(3 - 0.1 * k):.2f}; xent:   {3 - 0.1 * k:.2f}; 5187 src tok/s"
        for k in range(1, 5)
    ]
    assert list(points(read(tmp_path, "\n".join(lines)), "loss/train").items())[:2] == [(775, 2.9), (825, 2.8)]


def test_early_megatron_has_no_colons(tmp_path: Path) -> None:
    lines = [
        f" iteration {100 * k:8d}/  9000 | elapsed time per iteration (ms): 410.2 | learning rate 1.500E-04 | lm loss {9 - k}.25E+00 | loss scale 512.0 |"
        for k in range(1, 4)
    ]
    run = read(tmp_path, "\n".join(lines))
    assert points(run, "loss/train") == {100: 8.25, 200: 7.25, 300: 6.25}
    assert points(run, "lr/0")[100] == 1.5e-4
    assert points(run, "loss_scale")[100] == 512.0


def test_an_iteration_of_rsl_rl_is_one_row(tmp_path: Path) -> None:
    block = """################################################################################
                      Learning iteration {at}/1500

                       Computation: 30120 steps/s (collection: 1.107s, learning 0.201s)
               Value function loss: {value}
                    Surrogate loss: -0.0110
             Mean action noise std: 0.71
                 Mean total reward: 11.80
               Mean episode length: 702.10
"""
    run = read(tmp_path, "".join(block.format(at=at, value=value) for at, value in ((70, "0.0200"), (71, "3.1000"), (72, "inf"))))
    assert points(run, "loss_term/value_function") == {70: 0.02, 71: 3.1, 72: math.inf}
    assert run.header.objective == "rl"


def test_the_results_of_early_yolov5_are_read_without_a_heading(tmp_path: Path) -> None:
    rows = [
        f"     {k}/99     3.15G   0.0{9 - k}10   0.0500   0.0200   0.1{6 - k}10        41       640    0.11    0.2{k}    0.19    0.08  0.0800  0.0410  0.0190"
        for k in range(3)
    ]
    run = read(tmp_path, "\n".join(rows))
    assert list(points(run, "loss/train").values()) == [0.161, 0.151, 0.141]
    assert list(points(run, "loss_term_val/obj").values()) == [0.041] * 3


@pytest.mark.parametrize(
    ("command", "dtype"),
    [
        ("torchrun --nproc_per_node=2 train.py --batch_size=4 --dtype=float16", "fp16"),
        ("deepspeed train.py \\\n    --bf16 \\\n    --lr 1e-4 \\", "bf16"),
        ("python train.py --fp16 True --epochs 3", "fp16"),
        ("python train.py --epochs 3", None),
    ],
)
def test_the_command_line_says_the_precision(command: str, dtype: str | None, tmp_path: Path) -> None:
    rows = "\n".join(f"step {k} loss {3 - 0.1 * k:.2f}" for k in range(5))
    assert read(tmp_path, f"{command}\n{rows}\n").header.dtype == dtype


def test_an_lr_that_stays_at_its_peak_under_a_cosine_was_never_stepped(tmp_path: Path) -> None:
    def log(after: list[float]) -> str:
        rates = [2e-5 * k for k in range(1, 6)] + after
        rows = [f"{{'loss': {2.5 - 0.01 * k:.4f}, 'learning_rate': {rate!r}, 'epoch': {k / 20:.2f}}}" for k, rate in enumerate(rates)]
        return "\n".join(
            [
                "deepspeed sft.py --lr_scheduler_type cosine --warmup_ratio 0.1",
                *rows,
                "{'train_runtime': 61.0, 'train_loss': 2.2, 'epoch': 2.2}",
            ]
        )

    stuck = read(tmp_path, log([1e-4] * 40))
    assert first_cause(stuck) == "scheduler-never-stepped"
    assert first_cause(read(tmp_path, log([5e-5 * (1 + math.cos(math.pi * k / 40)) for k in range(40)]))) == ""


def test_the_loss_on_the_line_of_the_step_of_tensorflows_detection_is_read(tmp_path: Path) -> None:
    lines = [f"INFO:tensorflow:Step {100 * k} per-step time 0.813s loss={2 - 0.1 * k:.3f}" for k in range(1, 4) for _ in "ab"]
    assert points(read(tmp_path, "\n".join(lines)), "loss/train") == {100: 1.9, 200: 1.8, 300: 1.7}


def test_a_rate_of_darknet_that_is_printed_as_zero_is_not_known(tmp_path: Path) -> None:
    lines = [
        f" {k}: {900 - k}.5, {910 - k}.5 avg loss, 0.000000 rate, 2.9 seconds, {64 * k} images, 30.1 hours left" for k in range(20, 50)
    ]
    run = read(tmp_path, "\n".join(lines))
    assert len(points(run, "loss/train")) == 30
    assert "lr/0" not in run.series
    assert first_cause(run) == ""


def test_the_time_behind_a_row_of_early_fastai_has_no_heading(tmp_path: Path) -> None:
    run = read(tmp_path, "epoch train_loss valid_loss error_rate\n1 1.51 1.04 0.51 (00:13)\n2 1.29 0.99 0.44 (01:09:09)\n")
    assert points(run, "loss/val") == {1: 1.04, 2: 0.99}


def test_numbers_before_their_names_are_read(tmp_path: Path) -> None:
    lines = [f"{k:5d} 1030.{k}2 ms run, 4.00 ms python, 1020.54 ms CUDA * 1,  {7 - k}.07 loss, 0.00 acc, 0.00002{k} LR" for k in range(4)]
    run = read(tmp_path, "\n".join(lines))
    assert points(run, "loss/train") == {0: 7.07, 1: 6.07, 2: 5.07, 3: 4.07}
    assert points(run, "lr/0")[3] == 0.000023


def test_two_wide_numbers_that_have_met_are_two_columns(tmp_path: Path) -> None:
    heading = "Itn.  Dep Loss  NER Loss  NER F.  Tag %   Token %\n"
    rows = [f"{k}     {9 - k}.250     1.500     31.250  100.000 100.000\n" for k in range(3)]
    assert list(points(read(tmp_path, heading + "".join(rows)), "loss_term/dep").items()) == [(0, 9.25), (1, 8.25), (2, 7.25)]


def test_the_bound_of_the_clip_is_no_gradient_norm(tmp_path: Path) -> None:
    run = read(tmp_path, "grad_norm_clip = 1.0 by default\n" + "\n".join(f"step {k} loss {3 - 0.1 * k:.2f}" for k in range(5)))
    assert "grad_norm/pre" not in run.series


def test_a_log_that_begins_in_its_warmup_has_no_inverted_rate(tmp_path: Path) -> None:
    rows = [f"step {300 + 4 * k} loss {0.61 if k < 14 else 'nan'} lr {0.00012 + 0.000004 * k:.6f}" for k in range(20)]
    assert first_cause(read(tmp_path, "\n".join(rows))) != "lr-inverted"


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


def test_the_nan_that_a_bar_writes_as_a_fraction_is_read(tmp_path: Path) -> None:
    lines = [
        f"Epoch 0:  {k}%| | {k}/99 [00:{k}<01:39, 24.37it/s, v_num=0, train_loss_step={'nan.0' if k > 15 else '5.1'}]\n"
        for k in range(10, 20)
    ]
    assert math.isnan(points(read(tmp_path, "".join(lines)), "loss/train")[19])


def test_the_updates_of_flashlight_are_steps(tmp_path: Path) -> None:
    lines = [
        f"Train.cpp:704] epoch:        3 | nupdates:        {k}000 | lr: 0.3{k} | loss:   23.9{k} | train-TER: 69.89\n" for k in range(1, 5)
    ]
    assert list(points(read(tmp_path, "".join(lines)), "loss/train")) == [1000, 2000, 3000, 4000]


def test_a_rate_that_stands_in_the_first_hundredth_of_a_cosine_is_no_fault(tmp_path: Path) -> None:
    def log(total: int) -> str:
        rows = [f" iteration {10000 + 100 * k:8d}/ {total} | learning rate 1.500E-04 | lm loss {3.1 - 0.01 * k:.6E} |\n" for k in range(40)]
        return "".join(["pretrain_gpt2.py \\\n", "    --lr-decay-style cosine \\\n", *rows])

    assert first_cause(read(tmp_path, log(1000000))) == ""
    assert first_cause(read(tmp_path, log(16000))) == "scheduler-never-stepped"


@pytest.mark.parametrize(
    ("counted", "start", "named"),
    [(", time 31.20ms, mfu 12.00%", 4.2, True), (", time 31.20ms", 4.2, False), (", time 31.20ms, mfu 12.00%", 2.3, False)],
)
def test_characters_that_are_known_before_they_are_read(counted: str, start: float, named: bool, tmp_path: Path) -> None:
    """Both losses near 0 are no text's, be it one of letters; a classifier of as many classes may get there."""
    falling = [start * math.exp(-step / 70) + 0.03 + 0.002 * math.sin(step) for step in range(600)]
    rows = [f"iter {step}: loss {falling[step]:.4f}{counted}" for step in range(0, 600, 10)]
    evals = [f"step {step}: train loss {falling[step]:.4f}, val loss {falling[step] + 0.003:.4f}" for step in range(0, 600, 100)]
    text = "\n".join(row for at, row in enumerate(rows) for row in (([evals[at // 10]] if at % 10 == 0 else []) + [row]))
    assert (first_cause(read(tmp_path, text)) == "causal-mask-broken") is named


@pytest.mark.parametrize(
    "wrapped",
    [
        lambda text: {"log": f"{text}\n", "stream": "stdout", "time": "2024-03-11T08:04:12.114231Z"},
        lambda text: {"level": "info", "ts": 1710144252.114, "msg": text},
        lambda text: {"severity": "INFO", "textPayload": text, "labels": {"rank": 0}},
        lambda text: {"text": f"2024-03-11 08:04:12.114 | INFO | __main__:<module>:8 - {text}\n", "record": {"elapsed": {"seconds": 3.1}}},
    ],
    ids=["docker", "zap", "google cloud", "loguru"],
)
def test_a_log_that_was_wrapped_in_json_a_line_each_is_unwrapped(wrapped: Callable[[str], dict[str, object]], tmp_path: Path) -> None:
    lines = ["loading data", *(f"step {step} loss {9.5 - step} lr 0.001" for step in range(9)), "a\rb", "RuntimeError: CUDA out of memory"]
    run = read(tmp_path, "".join(json.dumps(wrapped(line)) + "\n" for line in lines))
    assert points(run, "loss/train") == {step: 9.5 - step for step in range(9)}
    assert run.events_of("crash")


def test_a_row_with_a_message_beside_its_numbers_is_a_row(tmp_path: Path) -> None:
    rows = [{"step": step, "loss": 9.5 - step, "message": f"loss is {step}"} for step in range(9)]
    assert points(read(tmp_path, "".join(json.dumps(row) + "\n" for row in rows)), "loss/train") == {step: 9.5 - step for step in range(9)}


@pytest.mark.parametrize("place", ["loss.c:12: warning: unused variable", "/src/loss.cpp:12 note: here", "epoch_loss.rs:12:5"])
def test_a_place_in_a_file_is_no_loss(place: str, tmp_path: Path) -> None:
    run = read(tmp_path, "".join(f"step {step} loss {9.5 - step}\n" for step in range(9)) + f"{place}\n" * 3)
    assert points(run, "loss/train") == {step: 9.5 - step for step in range(9)}
    with pytest.raises(UnrecognisedLog):
        read(tmp_path, f"{place}\n" * 3)


@pytest.mark.parametrize(
    ("said", "size"),
    [
        ("Model: 12 layers, d_model 768, vocab_size=32000", 32000),
        ("INFO GPT(n_layer=12) vocab_size: 320, 8 heads", 320),
        ("Vocabulary size: 5000", None),
    ],
)
def test_a_setting_that_is_told_in_passing_is_known_and_a_sentence_is_none(said: str, size: int | None, tmp_path: Path) -> None:
    """Speech recognisers tell their vocabulary in words, and sum their losses over a sequence: those are not to be held against it."""
    run = read(tmp_path, f"{said}\n" + "".join(f"step {step} loss {9.5 - step}\n" for step in range(9)))
    assert run.header.vocab_size == size


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


@pytest.mark.parametrize("key", ["lr", "learning_rate", "learning rate", "Lernrate", "学习率"])
@pytest.mark.parametrize("first", [True, False])
def test_a_learning_rate_on_a_line_of_its_own_belongs_to_the_loss_beside_it(key: str, first: bool, tmp_path: Path) -> None:
    rows = [[f"loss: {3 - step / 9:.4f}", f"{key}: {1e-3 * (step + 1):.4f}"][:: -1 if first else 1] for step in range(9)]
    run = read(tmp_path, "\n".join(line for row in rows for line in row))
    assert run.series["lr/0"].values.tolist() == pytest.approx([1e-3 * (step + 1) for step in range(9)])
    assert run.series["lr/0"].steps.tolist() == run.series["loss/train"].steps.tolist()


def test_a_learning_rate_that_is_told_once_before_the_losses_is_a_setting(tmp_path: Path) -> None:
    run = read(tmp_path, "learning_rate: 3e-05\n" + "".join(f"step {step} loss {3 - step / 9:.4f}\n" for step in range(9)))
    assert "lr/0" not in run.series
