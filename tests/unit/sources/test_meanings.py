"""What numbers and words in a log mean, which is not always what they look like: each through the public door, from text as typed here."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

import sismo
from sismo.postmortem import PostMortem
from sismo.records.types import Run


def loss(step: int) -> float:
    """A loss that falls as a healthy one does, with some noise."""
    return round(2.0 + 5.0 * math.exp(-step / 30) + 0.03 * math.sin(7.3 * step), 4)


def runs(folder: Path, text: str | Iterable[str], name: str = "out.log") -> list[Run]:
    path = folder / name
    path.write_text(text if isinstance(text, str) else "\n".join(text) + "\n", encoding="utf-8")
    found = sismo.load(path)
    return found if isinstance(found, list) else [found]


def run(folder: Path, text: str | Iterable[str], name: str = "out.log") -> Run:
    (only,) = runs(folder, text, name)
    return only


def codes(one: Run) -> set[str]:
    return {note.code for note in one.notes}


def alarms(document: PostMortem) -> list[str]:
    return [cause.id for cause in document.causes if cause.severity != "note"]


# Which series is the training loss


@pytest.mark.parametrize(
    "line",
    [
        "Epoche {epoch}/9 - Verlust: {loss} - Validierungsverlust: {val} - Lernrate: 0.001",
        "第 {epoch} 轮 损失: {loss} 验证损失: {val} 学习率: 0.001",
        "第{epoch}轮 | 训练损失={loss} | 验证集损失={val} | 学习率=0.001",
        "エポック {epoch}/9 - 損失: {loss} - 検証損失: {val} - 学習率: 0.001",
        "에포크 {epoch} 손실: {loss} 검증 손실: {val} 학습률: 0.001",
        "Эпоха {epoch}: потери: {loss}, потери валидации: {val}, скорость обучения: 0.001",
        "Époque {epoch} | perte: {loss} | perte validation: {val} | lr: 0.001",
        "época {epoch} - perda: {loss} - perda validação: {val} - lr: 0.001",
        "Época {epoch}: pérdida {loss}, pérdida validación {val}, lr 0.001",
    ],
    ids=["German", "Chinese", "Chinese, glued", "Japanese", "Korean", "Russian", "French", "Portuguese", "Spanish"],
)
def test_a_log_may_be_in_another_language(line: str, tmp_path: Path) -> None:
    made = run(tmp_path, (line.format(epoch=epoch, loss=loss(epoch), val=loss(epoch) + 0.1) for epoch in range(1, 10)))
    for channel, more in (("loss/train", 0.0), ("loss/val", 0.1)):
        assert made.series[channel].steps.tolist() == list(range(1, 10))
        assert made.series[channel].values.tolist() == pytest.approx([loss(epoch) + more for epoch in range(1, 10)])
    assert set(made.series["lr/0"].values.tolist()) == {0.001}


def test_batches_of_a_chinese_epoch_are_steps(tmp_path: Path) -> None:
    rows = [f"第 {epoch} 轮 [{batch}/40] 损失: {loss(40 * epoch + batch)}" for epoch in (1, 2) for batch in (10, 20, 30, 40)]
    assert run(tmp_path, rows).series["loss/train"].steps.tolist() == [10, 20, 30, 40, 50, 60, 70, 80]


@pytest.mark.parametrize("key", ["expertEntropy", "property", "passos_dados", "overlust", "trainer"])
def test_a_word_that_has_one_of_another_language_in_it_is_another_word(key: str, tmp_path: Path) -> None:
    made = run(tmp_path, (f"step {step} loss {loss(step)} {key} 7.5" for step in range(1, 9)))
    assert made.series["loss/train"].values[0] == loss(1)
    assert not {name for name in made.series if name.startswith(("loss_term", "loss_val", "lr"))}


@pytest.mark.parametrize(
    "line",
    [
        "step {step} | loss {loss}",
        " iteration {step}/ 100 | consumed samples: 512 | lm loss: {loss}E+00 | grad norm: 0.812 |",
        "{{'loss': {loss}, 'grad_norm': 1.2, 'learning_rate': 2e-05, 'epoch': 0.{step:03d}}}",
        "step:{step} trl:{loss} lr:0.0003",
    ],
    ids=["loss", "lm loss", "hf dict", "trl"],
)
def test_the_training_loss_is_found_under_its_name(line: str, tmp_path: Path) -> None:
    made = run(tmp_path, (line.format(step=step, loss=loss(step)) for step in range(1, 60)))
    assert made.series["loss/train"].values[[0, -1]].tolist() == pytest.approx([loss(1), loss(59)])


def test_box_losses_are_terms_and_their_sum_is_the_loss(tmp_path: Path) -> None:
    rows = [f"{epoch},{loss(epoch)},0.5,1.25,0.9" for epoch in range(1, 40)]
    made = run(tmp_path, ["epoch,train/box_loss,train/cls_loss,train/dfl_loss,metrics/mAP50(B)", *rows], "results.csv")
    assert made.series["loss/train"].values[0] == pytest.approx(loss(1) + 1.75)
    assert {"loss_term/box", "loss_term/cls", "loss_term/dfl"} <= set(made.series)


def test_a_term_beside_the_total_is_not_the_total(tmp_path: Path) -> None:
    rows = [json.dumps({"step": step, "mlm_loss": 0.1, "loss": loss(step), "nsp_loss": 0.2}) for step in range(40)]
    made = run(tmp_path, rows, "log.jsonl")
    assert made.series["loss/train"].source_key == "loss"
    assert "loss_term/mlm" in made.series


def test_a_running_mean_is_the_loss_and_says_that_it_hides_jumps(tmp_path: Path) -> None:
    made = run(tmp_path, (f"Epoch: [0][{step}/500]  Loss {loss(step) + 0.2:.4f} ({loss(step):.4f})" for step in range(60)))
    assert "loss/train" in made.series
    smooth = run(tmp_path, (json.dumps({"step": step, "running_loss": loss(step)}) for step in range(60)), "log.jsonl")
    assert "smoothed-loss" in codes(smooth)
    assert "spikes are flattened" in next(str(cause.statement) for cause in sismo.diagnose(smooth).causes if cause.id == "smoothed-loss")


def test_a_loss_that_is_summed_over_accumulation_is_seen_against_the_validation(tmp_path: Path) -> None:
    rows = [
        json.dumps({"step": step, "loss": 8 * loss(step), **({"eval_loss": loss(step)} if step % 20 == 19 else {})}) for step in range(200)
    ]
    assert sismo.diagnose(run(tmp_path, rows, "log.jsonl")).causes[0].id == "accumulation-not-averaged"


# Evaluations


def test_several_evaluation_sets_stay_apart(tmp_path: Path) -> None:
    rows = [
        {"step": step, "loss": loss(step), **({"eval_wiki_loss": 2.5, "eval_code_loss": 1.5} if step % 10 == 9 else {})}
        for step in range(60)
    ]
    made = run(tmp_path, map(json.dumps, rows), "log.jsonl")
    assert made.series["loss_val/wiki"].values[0] == 2.5
    assert made.series["loss_val/code"].values[0] == 1.5
    assert len(made.series["loss/val"]) == 6


def test_training_and_evaluation_rows_that_take_turns_are_told_apart(tmp_path: Path) -> None:
    lines = [
        str({"eval_loss": 3.0, "eval_runtime": 1.2, "epoch": step / 10}) if step % 5 == 4 else str({"loss": loss(step), "epoch": step / 10})
        for step in range(60)
    ]
    made = run(tmp_path, lines)
    assert len(made.series["loss/train"]) == 48
    assert made.series["loss/val"].values.tolist() == [3.0] * 12


# Numbers that are printed with too few digits, or are none


def test_an_lr_that_is_rounded_to_nothing_is_no_lr_of_zero(tmp_path: Path) -> None:
    lines = [f"step {step} loss {loss(step)} lr {2e-5 * min(1, step / 20):.4f}" for step in range(1, 100)]
    document = sismo.diagnose(run(tmp_path, lines))
    assert "lr-zero" not in [cause.id for cause in document.causes]
    assert document.healthy is True


def test_a_loss_of_one_decimal_is_said_and_is_no_plateau_of_steps(tmp_path: Path) -> None:
    made = run(tmp_path, (f"step {step} loss {loss(step):.1f}" for step in range(150)))
    assert "rounded-values" in codes(made)
    assert alarms(sismo.diagnose(made)) == []


@pytest.mark.parametrize("placeholder", ["-1", "0.000", "0.0"])
def test_a_number_that_is_the_same_on_each_line_is_no_measurement(placeholder: str, tmp_path: Path) -> None:
    lines = (f"step {step} loss {loss(step)} grad_norm {placeholder} loss_scale {placeholder}" for step in range(100))
    assert alarms(sismo.diagnose(run(tmp_path, lines))) == []


def test_the_average_precision_of_an_empty_class_is_no_broken_run(tmp_path: Path) -> None:
    rows = [f"{epoch},{loss(epoch)},{'nan' if epoch % 2 else 0.4}" for epoch in range(1, 60)]
    document = sismo.diagnose(run(tmp_path, ["epoch,loss,AP_rare", *rows], "metrics.csv"))
    assert document.healthy is True
    assert "metric-nan-only" in [cause.id for cause in document.causes]


@pytest.mark.parametrize(
    "line",
    [
        "detect_nan: true",
        "Namespace(check_nan=True, inf_mode='info', name='nan-hunt-3')",
        "x = torch.where(torch.isnan(x), torch.zeros_like(x), x)",
        "INFO: loading model inf-transformer/nancy-base",
        "    if loss == float('inf') or math.isnan(loss): raise ValueError",
    ],
)
def test_the_words_nan_and_inf_in_code_and_names_are_no_events(line: str, tmp_path: Path) -> None:
    lines = [line, *(f"step {step} loss {loss(step)}" for step in range(100)), line]
    made = run(tmp_path, lines)
    assert bool(np.isfinite(made.series["loss/train"].values).all())
    assert sismo.diagnose(made).healthy is True


def test_a_nan_loss_that_is_replaced_by_a_mean_is_told_by_the_norm_and_by_repeats(tmp_path: Path) -> None:
    """Hugging Face's filter: the loss of a lost step is left out of the mean, and the norm is not."""
    lost = [{"loss": loss(39), "grad_norm": float("nan"), "learning_rate": 1e-5, "epoch": step / 100} for step in range(40, 80)]
    fine = [{"loss": loss(step), "grad_norm": 1.0 + 0.01 * (step % 7), "learning_rate": 1e-5, "epoch": step / 100} for step in range(40)]
    first = sismo.diagnose(run(tmp_path, map(str, [*fine, *lost]))).causes[0]
    assert (first.id, first.severity) == ("nan-hidden-by-logger", "broken")


# Several of something in one file


def test_two_ranks_that_write_one_file_are_one_rank_and_are_said(tmp_path: Path) -> None:
    lines = [f"step {step} loss {loss(step) + 0.3 * rank:.4f}" for step in range(1, 60) for rank in (0, 1)]
    made = run(tmp_path, lines)
    assert made.series["loss/train"].values.tolist() == pytest.approx([loss(step) + 0.3 for step in range(1, 60)])
    assert "each step comes 2 times, as it does where several ranks write one file" in " ".join(str(note) for note in made.notes)
    assert alarms(sismo.diagnose(made)) == []


def test_two_runs_that_write_one_file_in_turn_are_taken_apart(tmp_path: Path) -> None:
    lines = [f"step {step + 500 * other} loss {loss(step) + other:.4f}" for step in range(1, 60) for other in (0, 1)]
    first, second = runs(tmp_path, lines)
    assert (len(first.series["loss/train"]), len(second.series["loss/train"])) == (59, 59)
    assert "two-writers" in codes(first)


def test_folds_are_runs(tmp_path: Path) -> None:
    lines = [text for fold in range(3) for text in (f"Fold {fold}", *(f"Epoch {epoch} loss: {loss(epoch * 3)}" for epoch in range(1, 26)))]
    assert len(runs(tmp_path, lines)) == 3


def test_a_resume_is_one_run_and_is_said(tmp_path: Path) -> None:
    steps = [*range(1, 61), *range(51, 101)]
    made = run(tmp_path, (f"step {step} loss {loss(step)}" for step in steps))
    assert len(made.series["loss/train"]) == 100
    assert [event.kind for event in made.events] == ["resume"]


def test_epochs_are_the_steps_where_there_are_no_others(tmp_path: Path) -> None:
    made = run(tmp_path, ["epoch,loss", *(f"{epoch},{loss(epoch)}" for epoch in range(1, 40))], "history.csv")
    assert made.header.step_unit == "epoch"
    assert made.series["loss/train"].steps[-1] == 39
    assert sismo.diagnose(made).healthy is True


def test_a_log_that_starts_in_the_middle_says_so_and_has_no_first_step(tmp_path: Path) -> None:
    made = run(tmp_path, (f"step {step} loss {2.0 + 0.02 * math.sin(step)} lr 0.0003" for step in range(9000, 9200)))
    assert "partial-log" in codes(made)
    assert "missing-warmup" not in [cause.id for cause in sismo.diagnose(made).causes]
