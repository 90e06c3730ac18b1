"""Logs as people paste them into a bug report: tables out of notebooks, keys in brackets, quotes that a forum makes curly."""

# ruff: noqa: E501 - lines of logs are as long as they are
from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from support.pasted import read
from support.runs import points

from sismo.errors import UnrecognisedLog


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


def test_the_quotes_that_a_forum_makes_curly_are_read_as_quotes(tmp_path: Path) -> None:
    lines = [f"{{‘loss’: {2.5 - 0.1 * k:.3f}, ‘learning_rate’: 1e-05, ‘epoch’: {0.2 * k:.1f}}}" for k in range(4)]
    assert list(points(read(tmp_path, "\n".join(lines)), "loss/train").values()) == [2.5, 2.4, 2.3, 2.2]


def test_the_results_of_early_yolov5_are_read_without_a_heading(tmp_path: Path) -> None:
    rows = [
        f"     {k}/99     3.15G   0.0{9 - k}10   0.0500   0.0200   0.1{6 - k}10        41       640    0.11    0.2{k}    0.19    0.08  0.0800  0.0410  0.0190"
        for k in range(3)
    ]
    run = read(tmp_path, "\n".join(rows))
    assert list(points(run, "loss/train").values()) == [0.161, 0.151, 0.141]
    assert list(points(run, "loss_term_val/obj").values()) == [0.041] * 3


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


def test_the_nan_that_a_bar_writes_as_a_fraction_is_read(tmp_path: Path) -> None:
    lines = [
        f"Epoch 0:  {k}%| | {k}/99 [00:{k}<01:39, 24.37it/s, v_num=0, train_loss_step={'nan.0' if k > 15 else '5.1'}]\n"
        for k in range(10, 20)
    ]
    assert math.isnan(points(read(tmp_path, "".join(lines)), "loss/train")[19])


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
