"""Lines as trainers print them, through ``load``: what becomes of each."""

# ruff: noqa: E501 - lines of logs are as long as they are
from __future__ import annotations

import math
from pathlib import Path

import pytest

from sismo.records.types import Run
from sismo.sources import load


def read(tmp_path: Path, text: str, name: str = "train.log") -> Run:
    path = tmp_path / name
    path.write_bytes(text.encode())
    runs = load(path)
    assert len(runs) == 1
    return runs[0]


def points(run: Run, channel: str) -> list[tuple[int, float]]:
    series = run.series[channel]
    return list(zip(series.steps.tolist(), series.values.tolist(), strict=True))


LINES = {
    "hf-dict": (
        "{'loss': 2.5, 'grad_norm': 1.5, 'learning_rate': 5e-05, 'epoch': 0.1}\n{'loss': 2.25, 'grad_norm': nan, 'learning_rate': 4e-05, 'epoch': 0.2}\n",
        [(1, 2.5), (2, 2.25)],
    ),
    "glued-behind-a-bar": (
        "{'loss': 2.5, 'epoch': 0.1}\n  0%|  | 1/900 [00:10<36:34, 10.13s/it]{'loss': 2.25, 'epoch': 0.2}{'loss': 2.0, 'epoch': 0.3}\n",
        [(1, 2.5), (2, 2.25), (3, 2.0)],
    ),
    "megatron": (
        " iteration       10/    1000 | learning rate: 1.5E-04 | lm loss: 2.5E+00 | loss scale: 4096.0 | grad norm: 1.2 | number of skipped iterations:   0 |\n"
        " iteration       20/    1000 | learning rate: 1.5E-04 | lm loss: 2.25E+00 | loss scale: 4096.0 | grad norm: 1.1 | number of skipped iterations:   1 |\n",
        [(10, 2.5), (20, 2.25)],
    ),
    "fairseq-inner": (
        "2024-01-01 00:00:00 | INFO | train_inner | epoch 001:     50 / 900 loss=2.5, ppl=5.6, num_updates=50, lr=8e-05, gnorm=1.9, loss_scale=4\n"
        "2024-01-01 00:01:00 | INFO | train_inner | epoch 001:    100 / 900 loss=2.25, ppl=4.7, num_updates=100, lr=9e-05, gnorm=1.8, loss_scale=4\n",
        [(50, 2.5), (100, 2.25)],
    ),
    "fairseq-epoch": (
        "| epoch 001 | loss 2.500 | nll_loss 2.4 | ppl 5.6 | num_updates 100 | lr 0.0001 | gnorm 0.4 | loss_scale 128.000\n"
        "| epoch 002 | loss 2.250 | nll_loss 2.2 | ppl 4.7 | num_updates 200 | lr 0.0001 | gnorm 0.4 | loss_scale 128.000\n",
        [(100, 2.5), (200, 2.25)],
    ),
    "nanogpt": (
        "step 0: train loss 4.2, val loss 4.25\niter 0: loss 2.5000, time 24.31ms, mfu -100.00%\niter 10: loss 2.2500, time 14.31ms, mfu 3.00%\n"
        "iter 20: loss 2.0000, time 14.31ms, mfu 3.00%\n",
        [(0, 2.5), (10, 2.25), (20, 2.0)],
    ),
    "build-nanogpt": (
        "validation loss: 10.9522\nstep     0 | loss: 2.500000 | lr 8.3916e-07 | norm: 15.3 | dt: 6014.55ms | tok/sec: 87170.78\n"
        "step     1 | loss: 2.250000 | lr 1.6783e-06 | norm: 14.8 | dt: 411.93ms | tok/sec: 1272768.51\n",
        [(0, 2.5), (1, 2.25)],
    ),
    "llmc": ("s:0 tel:11.0\ns:0 trl:2.5 lr:0.000001 norm:15.37\ns:1 trl:2.25 lr:0.000002 norm:15.24\n", [(0, 2.5), (1, 2.25)]),
    "torchtitan": (
        "\x1b[31m[titan] - step:  1  \x1b[32mloss:  2.5  \x1b[33mgrad_norm:  4.1  \x1b[34mmemory: 60.1GiB(75.9%)  tps: 110  mfu: 20.1%\x1b[0m\n"
        "[titan] - step: 10  loss:  2.25  grad_norm:  1.2  memory: 62.0GiB(78.3%)  tps: 128  mfu: 23.4%\n",
        [(1, 2.5), (10, 2.25)],
    ),
    "parameter-golf": (
        "warmup_step:1/20\nstep:1/20000 train_loss:2.5 train_time:132ms step_avg:132.47ms\nstep:2/20000 train_loss:2.25 train_time:210ms\n",
        [(1, 2.5), (2, 2.25)],
    ),
    "mmengine": (
        "2024/06/05 20:10:13 - mmengine - INFO - Epoch(train)   [1][1/2]  lr: 4.0e-08  eta: 4:59:11  time: 9.97  loss: 2.5  loss_kpt: 2.5\n"
        "2024/06/05 20:10:22 - mmengine - INFO - Epoch(train)   [1][2/2]  lr: 2.1e-04  eta: 4:30:58  time: 9.04  loss: 2.25  loss_kpt: 2.25\n"
        "2024/06/05 20:10:30 - mmengine - INFO - Epoch(train)   [2][1/2]  lr: 4.2e-04  eta: 4:23:06  time: 8.78  loss: 2.0  loss_kpt: 2.0\n",
        [(1, 2.5), (2, 2.25), (3, 2.0)],
    ),
    "mmcv": (
        "2021-01-01 10:00:00,000 - mmdet - INFO - Epoch [1][50/100]\tlr: 1.9e-03, eta: 1 day, 2:00:00, time: 0.5, loss_cls: 1.1, loss: 2.5\n"
        "2021-01-01 10:00:00,000 - mmdet - INFO - Epoch [2][50/100]\tlr: 1.9e-03, eta: 1 day, 2:00:00, time: 0.5, loss_cls: 1.1, loss: 2.25\n",
        [(50, 2.5), (150, 2.25)],
    ),
    "detectron2": (
        "[11/18 18:37:24] d2.utils.events INFO:  eta: 20:37:14  iter: 19  total_loss: 2.5  loss_cls: 1.5  loss_box_reg: 1.0  lr: 0.04  max_mem: 11811M\n"
        "[11/18 18:37:38] d2.utils.events INFO:  eta: 20:37:01  iter: 39  total_loss: 2.25  loss_cls: 1.25  loss_box_reg: 1.0  lr: 0.04  max_mem: 11811M\n",
        [(19, 2.5), (39, 2.25)],
    ),
    "yolox": (
        "INFO | epoch: 1/300, iter: 10/20, mem: 1491Mb, iter_time: 0.487s, total_loss: 2.5, iou_loss: 1.9, l1_loss: 0.0, lr: 7.073e-06, size: 640, ETA: 1:54:27\n"
        "INFO | epoch: 1/300, iter: 20/20, mem: 1491Mb, iter_time: 0.487s, total_loss: 2.3, iou_loss: 1.9, l1_loss: 0.0, lr: 7.073e-06, size: 640, ETA: 1:54:27\n"
        "INFO | epoch: 2/300, iter: 10/20, mem: 1491Mb, iter_time: 0.487s, total_loss: 2.2, iou_loss: 1.9, l1_loss: 0.0, lr: 7.073e-06, size: 640, ETA: 1:54:27\n",
        [(10, 2.5), (20, 2.3), (30, 2.2)],
    ),
    "word-lm": (
        "| epoch   1 |   200/ 2983 batches | lr 20.00 | ms/batch 11.61 | loss  2.50 | ppl    12.2\n"
        "| epoch   1 |   400/ 2983 batches | lr 20.00 | ms/batch 11.49 | loss  2.25 | ppl    9.5\n",
        [(200, 2.5), (400, 2.25)],
    ),
    "darknet": (
        "1: 2.5, 2.5 avg, 0.000100 rate, 3.1 seconds, 64 images\n2: 2.25, 2.4 avg, 0.000100 rate, 3.1 seconds, 128 images\n",
        [(1, 2.5), (2, 2.25)],
    ),
    "makemore": ("      0/ 200000: 2.5000\n  10000/ 200000: 2.2500\n", [(0, 2.5), (10000, 2.25)]),
    "loss-at-iteration": ("Loss at iteration 10 : 2.5\nLoss at iteration 20 : 2.25\n", [(10, 2.5), (20, 2.25)]),
    "olmo": (
        "2025-12-12 INFO [step=1/15000,epoch=0]\n    optim/total_grad_norm=0.2370\n    train/CrossEntropyLoss=2.5\n    throughput/total_tokens=2,097,152\n"
        "2025-12-12 INFO [step=2/15000,epoch=0]\n    optim/total_grad_norm=0.2051\n    train/CrossEntropyLoss=2.25\n",
        [(1, 2.5), (2, 2.25)],
    ),
    "tqdm": (
        "Epoch 1:   0%|          | 0/4 [00:00<?, ?it/s, loss=2.5000]\rEpoch 1:  25%|##5       | 1/4 [00:00<00:03,  1.19it/s, loss=2.5000]\r"
        "Epoch 1:  25%|##5       | 1/4 [00:00<00:03,  1.19it/s, loss=2.2500]\rEpoch 1:  25%|##5       | 1/4 [00:00<00:03,  1.19it/s, loss=2.0000]\r"
        "Epoch 2:   0%|          | 0/4 [00:00<?, ?it/s, loss=1.5000]\n",
        [(0, 2.5), (1, 2.25), (2, 2.0), (4, 1.5)],
    ),
    "keras": (
        "Epoch 1/2\n 1/12 [=>............] - ETA: 10s - loss: 9.0\r12/12 [==============] - 1s 5ms/step - loss: 2.5000 - val_loss: 3.0\n"
        "Epoch 2/2\n12/12 [==============] - 1s 5ms/step - loss: 2.2500 - val_loss: 2.9\n",
        [(1, 2.5), (2, 2.25)],
    ),
    "epoch-words": (
        "Epoch: 1, Training Loss: 2.5, Validation Loss: 4.7527, Alpha: 0.0000, Lambda Weights: [1.0, 1.0]\n"
        "Epoch: 2, Training Loss: 2.25, Validation Loss: 3.7527, Alpha: 0.0000, Lambda Weights: [1.0, 1.0]\n",
        [(1, 2.5), (2, 2.25)],
    ),
    "yolo-table": (
        "      Epoch    GPU_mem   box_loss   cls_loss  Instances       Size\n      1/100      2.2G      1.5      1.0         31        640:  50%|#####     | 10/20 [00:05<00:05,  3.9it/s]\r"
        "      1/100      2.2G      1.5      1.0         31        640: 100%|##########| 20/20 [00:05<00:00,  3.9it/s]\n"
        "      2/100      2.2G      1.25      1.0         31        640: 100%|##########| 20/20 [00:05<00:00,  3.9it/s]\n",
        [(1, 2.5), (2, 2.25)],
    ),
    "imagenet-example": (
        "Epoch: [0][  0/100]\tTime 4.123 ( 4.123)\tLoss 2.5e+00 (2.5e+00)\tAcc@1   0.00 (  0.00)\n"
        "Epoch: [0][ 10/100]\tTime 0.2 ( 0.6)\tLoss 2.25e+00 (2.4e+00)\nEpoch: [1][  0/100]\tTime 4.1 ( 4.1)\tLoss 2.0e+00 (2.0e+00)\n",
        [(0, 2.5), (10, 2.25), (100, 2.0)],
    ),
    "dcgan": ("[1/5][0/100] Loss_D: 1.5 Loss_G: 1.0 D(x): 0.5\n[1/5][50/100] Loss_D: 1.25 Loss_G: 1.0 D(x): 0.5\n", [(0, 2.5), (50, 2.25)]),
    "caffe": (
        "solver.cpp:228] Iteration 100, loss = 2.5\nsgd_solver.cpp:106] Iteration 100, lr = 0.01\nsolver.cpp:228] Iteration 200, loss = 2.25\n",
        [(100, 2.5), (200, 2.25)],
    ),
    "tensorflow": ("INFO:tensorflow:loss = 2.5, step = 1\nINFO:tensorflow:loss = 2.25, step = 101 (8.1 sec)\n", [(1, 2.5), (101, 2.25)]),
    "batch-of-one-epoch": (
        "Epoch 1, batch 0, loss[loss=2.5, over 2000.00 frames.]\nEpoch 1, batch 50, loss[loss=2.25, over 2000.00 frames.]\n",
        [(0, 2.5), (50, 2.25)],
    ),
    "spanish": ("Época 1: pérdida 2.5, val pérdida 2.4\nÉpoca 2: pérdida 2.25, val pérdida 2.3\n", [(1, 2.5), (2, 2.25)]),
    "model-card-table": (
        "| Training Loss | Epoch | Step | Validation Loss |\n|:-------------:|:-----:|:----:|:---:|\n| No log        | 1.0   | 5  | 3.0 |\n"
        "| 2.5        | 2.0   | 10  | 3.0 |\n| 2.25        | 3.0   | 20 | 2.9 |\n",
        [(10, 2.5), (20, 2.25)],
    ),
    "notebook-table": (
        "epoch     train_loss  valid_loss  time    \n1         2.5    0.61    00:10     \n2         2.25    0.51    00:10     \n",
        [(1, 2.5), (2, 2.25)],
    ),
    "train-and-valid-words": (
        "INFO train | epoch 1 | step 10 | loss 2.5\nINFO valid | epoch 1 | loss 9.0\nINFO train | epoch 1 | step 20 | loss 2.25\n",
        [(10, 2.5), (20, 2.25)],
    ),
    "loss-error": ("Loss error: 2.5\nLoss error: 2.25\n", [(1, 2.5), (2, 2.25)]),
    "cost": ("Epoch: 5 Cost: 2.5\nEpoch: 10 Cost: 2.25\n", [(5, 2.5), (10, 2.25)]),
    "train-and-test": ("Train loss: 2.5 | Test loss: 1.6\nTrain loss: 2.25 | Test loss: 1.5\n", [(1, 2.5), (2, 2.25)]),
    "pytorch-example": (
        "Train Epoch: 1 [0/100 (0%)]\tLoss: 2.5\nTrain Epoch: 1 [50/100 (50%)]\tLoss: 2.25\nTrain Epoch: 2 [0/100 (0%)]\tLoss: 2.0\n",
        [(0, 2.5), (50, 2.25), (100, 2.0)],
    ),
    "step-restarts-each-epoch": (
        "Epoch 1, Step 0: Loss=2.5\nEpoch 1, Step 30: Loss=2.25\nEpoch 2, Step 0: Loss=2.0\nEpoch 2, Step 30: Loss=1.75\n",
        [(0, 2.5), (30, 2.25), (60, 2.0), (90, 1.75)],
    ),
}


@pytest.mark.parametrize("kind", LINES)
def test_the_training_loss_and_its_steps_come_out(kind: str, tmp_path: Path) -> None:
    text, expected = LINES[kind]
    assert points(read(tmp_path, text), "loss/train") == expected


def test_nan_and_inf_are_values_and_a_missing_key_is_a_missing_row(tmp_path: Path) -> None:
    run = read(tmp_path, "step 1 loss nan lr 1e-3\nstep 2 loss inf\nstep 3 loss 2.0 lr 1e-3\n")
    values = run.series["loss/train"].values
    assert math.isnan(values[0])
    assert math.isinf(values[1])
    assert run.series["lr/0"].steps.tolist() == [1, 3]


def test_a_config_dump_with_the_words_is_not_measured_but_read_as_config(tmp_path: Path) -> None:
    dump = "  fp16 ............................ True\n  loss_scale ...................... None\n  vocab_size ...................... 50257\n"
    yaml = "SOLVER:\n  # Avoid Inf/NaN error\n  WARMUP_ITERS: 3000\n| ladybug 12 | 0.3 | nan |\nLOSS_WEIGHT: 1.0\n"
    run = read(tmp_path, dump + yaml + "step 1 loss 2.0\nstep 2 loss 1.9\n")
    assert points(run, "loss/train") == [(1, 2.0), (2, 1.9)]
    assert (run.header.dtype, run.header.vocab_size, run.header.warmup_steps) == ("fp16", 50257, 3000)


def test_overflow_lines_are_events_and_give_the_loss_scale(tmp_path: Path) -> None:
    text = (
        "377/2724 [13:55:57<86:19:20, 132.41s/it]\n"
        "[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 64, reducing to 32\n"
        "[deepspeed] OVERFLOW! Rank 1 Skipping step. Attempted loss scale: 64, reducing to 32\n"
        "{'loss': 2.0, 'learning_rate': 1e-4, 'epoch': 0.28}\n"
        "[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 32, reducing to 16\n"
    )
    run = read(tmp_path, text)
    overflows = run.events_of("overflow")
    assert [(event.step, event.data["scale_before"], event.data["scale_after"]) for event in overflows] == [
        (378, 64.0, 32.0),
        (379, 32.0, 16.0),
    ]
    assert points(run, "loss_scale") == [(378, 32.0), (379, 16.0)]


def test_a_log_of_overflows_alone_is_evidence_enough(tmp_path: Path) -> None:
    line = "[INFO] [deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 4, reducing to 2\n"
    run = read(tmp_path, line + "Exception: Current loss scale already at minimum - cannot decrease scale anymore. Exiting run.\n")
    assert "loss/train" not in run.series
    assert [event.kind for event in run.events] == ["overflow", "crash"]


@pytest.mark.parametrize(
    ("line", "tag"),
    [
        ("WARNING: tokenization mismatch: 47 vs. 48. (ignored)", "tokenization-mismatch"),
        ("x.py:3: RuntimeWarning: invalid value encountered in sqrt", "invalid-value"),
        ("RuntimeWarning: divide by zero encountered in log", "divide-by-zero"),
        ("RuntimeError: CUDA error: device-side assert triggered", "device-assert"),
        ("Loss.cu:94: Assertion `t >= 0 && t < n_classes` failed.", "device-assert"),
        ("IndexError: Target 5 is out of bounds.", "device-assert"),
        ("UserWarning: Detected call of `lr_scheduler.step()` before `optimizer.step()`.", "scheduler-order"),
        ("Region Avg IOU: -nan, Class: -nan, Obj: -nan, No Obj: 0.0003, count: 0", "nonfinite-iou"),
    ],
)
def test_warnings_carry_a_tag(line: str, tag: str, tmp_path: Path) -> None:
    run = read(tmp_path, f"step 1 loss 2.0\n{line}\nstep 2 loss 1.9\n")
    assert tag in [event.data["tag"] for event in run.events_of("warning")]


def test_only_a_crash_after_the_last_row_is_one(tmp_path: Path) -> None:
    crash = 'Traceback (most recent call last):\n  File "a.py", line 3, in f\n    loss = 3\nRuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB\n'
    run = read(tmp_path, f"{crash}step 1 loss 2.0\nstep 2 loss 1.9\n")
    assert not run.events_of("crash")
    assert "earlier-attempts" in [note.code for note in run.notes]
    run = read(tmp_path, f"step 1 loss 2.0\nstep 2 loss 1.9\n{crash}")
    (event,) = run.events_of("crash")
    assert "out of memory" in str(event.data["line"])


def test_hf_rows_without_a_step_are_counted_by_logging_steps(tmp_path: Path) -> None:
    run = read(tmp_path, "logging_steps=10,\n{'loss': 2.0, 'epoch': 0.1}\n{'eval_loss': 2.1, 'epoch': 0.1}\n{'loss': 1.0, 'epoch': 0.2}\n")
    assert points(run, "loss/train") == [(10, 2.0), (20, 1.0)]
    assert points(run, "loss/val") == [(10, 2.1)]
    assert "guessed-step" in [note.code for note in run.notes]


def test_values_with_few_decimals_are_noted(tmp_path: Path) -> None:
    run = read(tmp_path, "".join(f"step {step} loss {3 - step / 10:.1f}\n" for step in range(8)))
    (note,) = [note for note in run.notes if note.code == "rounded-values"]
    assert note.numbers["decimals"] == 1


def test_encodings_line_ends_and_colours_are_ordinary(tmp_path: Path) -> None:
    lines = "step 1 loss 2.0\r\r\nstep 2 \x1b[31mloss\x1b[0m 1.9\r\nstep 3 loss 1.8\r"
    for data in (
        lines.encode(),
        lines.encode("utf-16"),
        lines.encode("utf-16-le"),
        b"\x00" * 500 + lines.encode(),
        ("año\n" + lines).encode("latin-1"),
    ):
        path = tmp_path / "train.log"
        path.write_bytes(data)
        (run,) = load(path)
        assert points(run, "loss/train") == [(1, 2.0), (2, 1.9), (3, 1.8)]
