"""Several runs in one file, restarts, resumes and two writers are told apart."""

from __future__ import annotations

import json
import random
from pathlib import Path

from sismo.records.types import Run
from sismo.sources import load


def rows(steps: list[int], start: float = 3.0) -> str:
    return "".join(json.dumps({"step": step, "loss": start - step / 1000}) + "\n" for step in steps)


def runs_of(tmp_path: Path, text: str, name: str = "log.jsonl") -> list[Run]:
    path = tmp_path / name
    path.write_text(text)
    return load(path)


def test_a_step_back_into_the_middle_is_a_resume_that_replaces_the_overlap(tmp_path: Path) -> None:
    (run,) = runs_of(tmp_path, rows(list(range(1, 101))) + rows(list(range(81, 161)), 2.0))
    series = run.series["loss/train"]
    assert series.steps.tolist() == list(range(1, 161))
    assert series.at(81) == 2.0 - 0.081
    (event,) = run.events_of("resume")
    assert (event.step, event.data["overlap"], event.data["marked"]) == (81, 20, False)
    assert "resumed" in [note.code for note in run.notes]


def test_a_step_back_to_the_start_is_another_run(tmp_path: Path) -> None:
    runs = runs_of(tmp_path, rows(list(range(1, 101))) + rows(list(range(1, 51))))
    assert [len(run.series["loss/train"]) for run in runs] == [100, 50]
    assert all("several-runs" in [note.code for note in run.notes] for run in runs)


def test_a_marked_resume_without_overlap(tmp_path: Path) -> None:
    text = "step 10 loss 2.0\nstep 11 loss 1.9\nResuming from checkpoint\nstep 12 loss 1.8\nstep 13 loss 1.7\n"
    (run,) = runs_of(tmp_path, text, "train.log")
    (event,) = run.events_of("resume")
    assert (event.step, event.data["overlap"], event.data["marked"]) == (12, 0, True)


def test_loading_a_checkpoint_before_the_first_row_is_no_resume_of_this_log(tmp_path: Path) -> None:
    (run,) = runs_of(tmp_path, "Loading checkpoint from model.pt\nstep 1 loss 2.0\nstep 2 loss 1.9\n", "train.log")
    assert not run.events_of("resume")


def test_two_writers_in_turn_are_taken_apart(tmp_path: Path) -> None:
    text = "".join(rows([step]) + rows([step + 500]) for step in range(1, 40))
    runs = runs_of(tmp_path, text)
    assert [run.series["loss/train"].steps.tolist() for run in runs] == [list(range(1, 40)), list(range(501, 540))]
    assert all("two-writers" in [note.code for note in run.notes] for run in runs)


def test_a_repeated_step_keeps_the_last_row_and_is_noted(tmp_path: Path) -> None:
    (run,) = runs_of(tmp_path, rows([1, 2, 3, 3, 4, 5, 6, 7, 8, 9]))
    assert run.series["loss/train"].steps.tolist() == list(range(1, 10))
    assert "duplicate-steps" in [note.code for note in run.notes]


def test_headings_start_runs_and_name_them(tmp_path: Path) -> None:
    text = "".join(f"Fold {fold}/3\nEpoch 30 | Train Loss: 0.{fold} | LR: 0.001\n" for fold in (1, 2, 3))
    runs = runs_of(tmp_path, text, "out.log")
    assert [run.header.name for run in runs] == ["fold 1", "fold 2", "fold 3"]
    assert [run.series["loss/train"].values.tolist() for run in runs] == [[0.1], [0.2], [0.3]]


def test_a_csv_that_was_appended_to_is_several_runs(tmp_path: Path) -> None:
    header = "epoch,loss,val_loss\n"
    text = header + "0,0.9,1.0\n" + header + "0,0.8,1.0\n1,0.7,1.0\n2,0.6,0.9\n" + "0,0.9,1.0\n1,0.5,0.8\n2,0.4,0.7\n3,0.3,0.7\n"
    runs = runs_of(tmp_path, text, "history.csv")
    assert [len(run.series["loss/train"]) for run in runs] == [1, 3, 4]
    assert {run.header.step_unit for run in runs} == {"epoch"}


def test_epochs_that_restart_are_runs_even_when_steps_restart_too(tmp_path: Path) -> None:
    one = "".join(f"Epoch {epoch}, Step {step}: Total Loss={9 - epoch}.5\n" for epoch in (1, 2) for step in (0, 30, 60))
    runs = runs_of(tmp_path, one * 3, "vae.txt")
    assert [run.series["loss/train"].steps.tolist() for run in runs] == [[0, 30, 60, 90, 120, 150]] * 3


def test_a_log_that_starts_late_says_so(tmp_path: Path) -> None:
    (run,) = runs_of(tmp_path, rows(list(range(7000, 7100, 10))))
    assert "partial-log" in [note.code for note in run.notes]


def test_rows_newest_first_or_shuffled_are_one_run_in_order(tmp_path: Path) -> None:
    steps = list(range(0, 1000, 5))
    for order in (steps[::-1], random.Random(3).sample(steps, len(steps)), [30, 20, 10, 0]):
        (run,) = runs_of(tmp_path, rows(order))
        assert run.series["loss/train"].steps.tolist() == sorted(order)
        assert "unsorted-rows" in [note.code for note in run.notes]


def test_many_short_runs_are_not_one_run_out_of_order(tmp_path: Path) -> None:
    runs = runs_of(tmp_path, rows([10, 20, 30] * 12))
    assert len(runs) == 12


def test_an_evaluation_that_counts_its_own_is_no_restart(tmp_path: Path) -> None:
    text = ""
    for at in range(1, 6):
        text += rows([100 * at - 50, 100 * at]) + json.dumps({"step": at, "coco/bbox_mAP": 0.1 * at}) + "\n"
    (run,) = runs_of(tmp_path, text)
    assert run.series["loss/train"].steps.tolist() == list(range(50, 501, 50))
