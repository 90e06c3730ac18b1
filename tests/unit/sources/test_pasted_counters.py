"""Logs as people paste them: which number is the step, and which only looks like one."""

# ruff: noqa: E501 - lines of logs are as long as they are
from __future__ import annotations

import math
from pathlib import Path

import pytest
from support.pasted import first_cause, read
from support.runs import points


def test_the_place_in_brackets_behind_a_loss_is_not_the_loss(tmp_path: Path) -> None:
    text = "".join(f"Loss [{e}, {b}](epoch, minibatch):  {9.5 - e - b / 1000}\n" for e in (1, 2) for b in (100, 200))
    assert read(tmp_path, text).series["loss/train"].values.tolist() == [8.4, 8.3, 7.4, 7.3]


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


def test_the_name_of_a_logger_in_brackets_is_no_part_of_the_counter(tmp_path: Path) -> None:
    line = "2024-01-02 03:04:05,678 INFO    (__main__) Epoch: {}, Iteration: {}, Loss: {}\n"
    run = read(tmp_path, "".join(line.format(epoch, it, 9.5 - epoch - it / 40) for epoch in (2, 3) for it in (0, 10, 20)))
    assert len(run.series["loss/train"]) == 6


def test_a_counted_batch_of_the_validation_is_no_training_loss(tmp_path: Path) -> None:
    trained = "".join(f"[{step}/900] loss: {4.5 - step / 300}\n" for step in (300, 600, 900))
    run = read(tmp_path, f"{trained}Validation [20/40] loss: 1.75\nValidation [40/40] loss: 1.625\n")
    assert points(run, "loss/train") == {300: 3.5, 600: 2.5, 900: 1.5}
    assert run.series["loss/val"].values.tolist()[-1] == 1.625


def test_the_length_that_a_counter_runs_to_may_change(tmp_path: Path) -> None:
    text = "".join(f"[{step}/{500 if step < 400 else 900}] loss: {4.5 - step / 300}\n" for step in (150, 300, 450, 600))
    assert points(read(tmp_path, text), "loss/train") == {150: 4.0, 300: 3.5, 450: 3.0, 600: 2.5}


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


def test_the_loss_on_the_line_of_the_step_of_tensorflows_detection_is_read(tmp_path: Path) -> None:
    lines = [f"INFO:tensorflow:Step {100 * k} per-step time 0.813s loss={2 - 0.1 * k:.3f}" for k in range(1, 4) for _ in "ab"]
    assert points(read(tmp_path, "\n".join(lines)), "loss/train") == {100: 1.9, 200: 1.8, 300: 1.7}


def test_the_updates_of_flashlight_are_steps(tmp_path: Path) -> None:
    lines = [
        f"Train.cpp:704] epoch:        3 | nupdates:        {k}000 | lr: 0.3{k} | loss:   23.9{k} | train-TER: 69.89\n" for k in range(1, 5)
    ]
    assert list(points(read(tmp_path, "".join(lines)), "loss/train")) == [1000, 2000, 3000, 4000]


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
