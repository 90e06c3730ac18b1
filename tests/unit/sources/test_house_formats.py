"""Formats that one project and its children write: their steps, rates and losses, and what stands beside them that is none."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.runs import points

from sismo.records.types import Run
from sismo.sources import load


def read(tmp_path: Path, *lines: str) -> Run:
    path = tmp_path / "train.log"
    path.write_text("".join(f"{line}\n" for line in lines))
    (run,) = load(path)
    return run


@pytest.mark.parametrize("name", ["Rate", "GlobalRate", "rate"])
def test_a_throughput_is_no_learning_rate(name: str, tmp_path: Path) -> None:
    run = read(tmp_path, *(f"| Training Epoch=1 Step={step} Loss={9 / step:.4f} {name}=1603.{step} Time=10:01:02" for step in (20, 40, 60)))
    assert points(run, "loss/train") == {20: 0.45, 40: 0.225, 60: 0.15}
    assert not [channel for channel in run.series if channel.startswith("lr")]


@pytest.mark.parametrize("name", ["learning rate", "Learning_Rate", "learn_rate", "lr"])
def test_a_named_learning_rate_is_one(name: str, tmp_path: Path) -> None:
    run = read(tmp_path, *(f"Step: {step} Loss: {9 / step:.4f} {name}: 0.002" for step in (20, 40, 60)))
    assert points(run, "lr/0") == dict.fromkeys((20, 40, 60), 0.002)


def test_the_rate_of_darknet_is_its_learning_rate(tmp_path: Path) -> None:
    run = read(tmp_path, *(f"{step}: {9 / step:.6f}, 2.5 avg, 0.0020{step} rate, 3.1 seconds, 64 images" for step in (20, 40, 60)))
    assert points(run, "lr/0") == {20: 0.00202, 40: 0.00204, 60: 0.00206}


@pytest.mark.parametrize("quote", ["'", '"'])
def test_numbers_in_quotes_are_numbers(quote: str, tmp_path: Path) -> None:
    q = quote
    run = read(tmp_path, *(f"11:22-INFO: iter: {step}, lr: 0.002, {q}loss_cls{q}: {q}0.{step}{q}, {q}loss{q}: {q}1.{step}{q}, eta: 3:01"
                           for step in (20, 40, 60)))  # fmt: skip
    assert points(run, "loss/train") == {20: 1.2, 40: 1.4, 60: 1.6}
    assert points(run, "loss_term/cls") == {20: 0.2, 40: 0.4, 60: 0.6}


def test_a_quoted_name_that_begins_with_a_number_is_none(tmp_path: Path) -> None:
    run = read(tmp_path, *(f"step: {step} loss: 1.{step} saved: '{step}.pt' model: '7b-chat'" for step in (20, 40, 60)))
    assert list(run.series) == ["loss/train"]


@pytest.mark.parametrize("level", ["INFO", "DEBUG", "WARNING"])
def test_the_level_of_a_logger_is_no_part_of_a_name(level: str, tmp_path: Path) -> None:
    head = "2024-02-03 04:05:06 train.py:11[77]"
    run = read(tmp_path, *(f"{head} {level} Epoch: {epoch} [{at}/400] Loss: 0.{epoch}{at}" for epoch in (3, 4) for at in (200, 400)))
    assert list(points(run, "loss/train").values()) == [0.32, 0.34, 0.42, 0.44]
    assert "metric/info_epoch" not in run.series


def test_boosting_names_its_data_sets_freely(tmp_path: Path) -> None:
    run = read(tmp_path, *(f"[{step}]\ttrain_part's rmse: {50 / step}\tholdout's rmse: {60 / step}" for step in (10, 20, 50)))
    assert points(run, "loss/train") == {10: 5.0, 20: 2.5, 50: 1.0}
    assert points(run, "loss/val") == {10: 6.0, 20: 3.0, 50: 1.2}


def test_the_first_fairseq_counts_without_a_colon_and_shows_its_validation_on_the_way(tmp_path: Path) -> None:
    lines: list[str] = []
    for epoch in (1, 2):
        head = f"| epoch {epoch:03d} "
        lines += [
            *(f"{head}  {at} / 250 loss={8 - epoch - at / 1000:.3f}, nll_loss=5.01, wps=4711, lr=0.25, gnorm=0.9" for at in (100, 200)),
            f"{head}| train loss {7.5 - epoch} | train nll_loss 5.0 | lr 0.25 | gnorm 0.9 | clip 2%",
            *(f"{head}| valid on 'valid' subset   {at} / 30 loss=99.5, nll_loss=98" for at in (10, 20)),
            f"{head}| valid on 'valid' subset | valid loss {7 - epoch} | valid nll_loss 5.2 | valid ppl 36",
        ]
    run = read(tmp_path, *lines)
    assert 99.5 not in {*points(run, "loss/train").values(), *points(run, "loss/val").values()}
    assert list(points(run, "loss/train").values())[:2] == [6.9, 6.8]
    assert list(points(run, "loss/val").values()) == [6.0, 5.0]
    assert run.series["loss/train"].steps.tolist() == sorted(run.series["loss/train"].steps.tolist())


@pytest.mark.parametrize("ranks", [1, 2])
def test_the_step_of_clu_stands_in_brackets(ranks: int, tmp_path: Path) -> None:
    heads = ["I0203 04:05:06.0 1391", "(1) I0203 04:05:06.0 1391"][:ranks]
    row = "logging_writer.py:48] [{step}] epoch={epoch}, learning_rate=0.002, train_loss={loss}"
    steps = (100, 200, 400)
    run = read(tmp_path, *(f"{head} {row.format(step=step, epoch=step / 500, loss=8 / step)}" for step in steps for head in heads))
    assert points(run, "loss/train") == {100: 0.08, 200: 0.04, 400: 0.02}
    assert points(run, "lr/0") == dict.fromkeys((100, 200, 400), 0.002)


@pytest.mark.parametrize("logger", ["", "INFO:voice:", "2024-02-03 04:05:06,007 voice INFO "])
def test_vits_lists_six_losses_the_step_and_the_rate(logger: str, tmp_path: Path) -> None:
    lines: list[str] = []
    for step in (200, 400, 600):
        lines += [
            f"{logger}Train Epoch: {step // 200} [{step % 70}%]",
            f"{logger}[2.5, 1.75, 0.5, {40 - step / 50}, 1.25, -0.5, {step}, 0.00018]",
        ]
    run = read(tmp_path, *lines)
    assert points(run, "lr/0") == dict.fromkeys((200, 400, 600), 0.00018)
    assert points(run, "loss_term/mel") == {200: 36.0, 400: 32.0, 600: 28.0}
    assert points(run, "loss_term/kl") == dict.fromkeys((200, 400, 600), -0.5)


@pytest.mark.parametrize("logger", ["INFO:voice:", ""])
def test_its_children_name_the_losses_after_the_step(logger: str, tmp_path: Path) -> None:
    lines: list[str] = []
    for step in (200, 400, 600):
        lines += [
            f"{logger}Train Epoch: {step // 100} [1%]",
            f"{logger}[{step}, 0.00018]",
            f"{logger}loss_disc=2.5, loss_gen=1.75, loss_fm=0.5,loss_mel={40 - step / 50}, loss_kl=1.5",
        ]
    run = read(tmp_path, *lines)
    assert points(run, "loss_term/mel") == {200: 36.0, 400: 32.0, 600: 28.0}
    assert points(run, "lr/0") == dict.fromkeys((200, 400, 600), 0.00018)


def test_a_list_of_two_without_a_heading_is_no_step(tmp_path: Path) -> None:
    lines = [line for step in (1, 2, 3) for line in (f"step {step} loss 2.{step}", f"crop: [{700 * step}, 0.5]")]
    assert points(read(tmp_path, *lines), "loss/train") == {1: 2.1, 2: 2.2, 3: 2.3}


def _layers(step: int) -> list[str]:
    head = "v3 (iou loss, Normalizer: (iou: 0.07, obj: 1.00, cls: 1.00)"
    sizes = {82: 40.0, 94: 4.0, 106: 0.5}
    terms = [(layer, f"class_loss = {size / step}, iou_loss = 0.25, total_loss = {size / step + 0.25} ") for layer, size in sizes.items()]
    regions = [f"{head} Region {layer} Avg (IOU: 0.31{step}), count: 3, {term}" for layer, term in terms]
    return [*regions, f" total_bbox = {90 * step}, rewritten_bbox = 0.02 % "]


def test_the_layers_of_darknet_are_not_its_iterations(tmp_path: Path) -> None:
    lines: list[str] = []
    for step in (1, 2, 3):
        lines += [*_layers(step), *_layers(step), "", f" {step}: {90 / step}, 95.5 avg loss, 0.002 rate, 3.1 seconds, {64 * step} images"]
    run = read(tmp_path, *lines)
    assert points(run, "loss/train") == {1: 90.0, 2: 45.0, 3: 30.0}
    assert not [channel for channel in run.series if channel.startswith("loss_term")]


def test_where_no_iteration_is_done_one_layer_is_followed(tmp_path: Path) -> None:
    run = read(tmp_path, *(line for step in (1, 2, 4) for line in _layers(step)))
    assert list(points(run, "loss/train").values()) == [40.25, 20.25, 10.25]
