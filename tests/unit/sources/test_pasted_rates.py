"""Logs as people paste them: loss scales, learning rates, precision and what else is set."""

# ruff: noqa: E501 - lines of logs are as long as they are
from __future__ import annotations

import math
from pathlib import Path

import pytest
from support.pasted import first_cause, read
from support.runs import points

import sismo


def test_the_logarithm_of_a_scale_is_told_as_a_scale(tmp_path: Path) -> None:
    table = "| grad_norm     | 0.2 |\n| lg_loss_scale | 20.01 |\n| loss          | {} |\n| step          | {} |\n"
    run = read(tmp_path, table.format(0.3, 10) + "Found NaN, decreased lg_loss_scale to 19.010000000000002\n" + table.format(0.25, 20))
    (overflow,) = run.events_of("overflow")
    assert overflow.data["scale_after"] == pytest.approx(2.0**19.01)
    assert not run.events_of("warning")
    assert float(run.series["loss_scale"].values.max()) == pytest.approx(2.0**19.01)
    assert first_cause(run) == ""


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


def test_a_scale_that_stands_under_one_has_found_its_level(tmp_path: Path) -> None:
    line = '2021-01-05 23:13:26 | INFO | train | {{"epoch": {0}, "train_loss": "{1}", "train_num_updates": "{0}0", "train_loss_scale": "0.25", "train_gnorm": "7.1"}}\n'
    run = read(tmp_path, "".join(line.format(20 + k, loss) for k, loss in enumerate([410.5, 408.25, 407.5, 405.125])))
    assert first_cause(run) == ""


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


def test_a_rate_of_darknet_that_is_printed_as_zero_is_not_known(tmp_path: Path) -> None:
    lines = [
        f" {k}: {900 - k}.5, {910 - k}.5 avg loss, 0.000000 rate, 2.9 seconds, {64 * k} images, 30.1 hours left" for k in range(20, 50)
    ]
    run = read(tmp_path, "\n".join(lines))
    assert len(points(run, "loss/train")) == 30
    assert "lr/0" not in run.series
    assert first_cause(run) == ""


def test_the_bound_of_the_clip_is_no_gradient_norm(tmp_path: Path) -> None:
    run = read(tmp_path, "grad_norm_clip = 1.0 by default\n" + "\n".join(f"step {k} loss {3 - 0.1 * k:.2f}" for k in range(5)))
    assert "grad_norm/pre" not in run.series


def test_a_log_that_begins_in_its_warmup_has_no_inverted_rate(tmp_path: Path) -> None:
    rows = [f"step {300 + 4 * k} loss {0.61 if k < 14 else 'nan'} lr {0.00012 + 0.000004 * k:.6f}" for k in range(20)]
    assert first_cause(read(tmp_path, "\n".join(rows))) != "lr-inverted"


def test_a_rate_that_stands_in_the_first_hundredth_of_a_cosine_is_no_fault(tmp_path: Path) -> None:
    def log(total: int) -> str:
        rows = [f" iteration {10000 + 100 * k:8d}/ {total} | learning rate 1.500E-04 | lm loss {3.1 - 0.01 * k:.6E} |\n" for k in range(40)]
        return "".join(["pretrain_gpt2.py \\\n", "    --lr-decay-style cosine \\\n", *rows])

    assert first_cause(read(tmp_path, log(1000000))) == ""
    assert first_cause(read(tmp_path, log(16000))) == "scheduler-never-stepped"


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
