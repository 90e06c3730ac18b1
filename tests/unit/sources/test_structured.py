"""JSON, JSON lines, CSV, folders and compressed files, through ``load``."""

# ruff: noqa: E501 - lines of logs are as long as they are
from __future__ import annotations

import gzip
import io
import json
import math
import sys
from pathlib import Path

import pytest
import zstandard

from sismo.errors import UsageError
from sismo.sources import load


def state(rows: list[dict[str, object]], **settings: object) -> str:
    return json.dumps({"epoch": 1.0, "log_history": rows, "max_steps": 300, **settings}, indent=1)


ROWS: list[dict[str, object]] = [
    {"step": 10, "loss": 2.5, "grad_norm": 1.0, "learning_rate": 1e-4},
    {"step": 20, "loss": None, "eval_loss": 2.6},
    {"step": 20, "loss": float("nan")},
    {"step": 30, "train_runtime": 5.0, "train_loss": 0.01},
]


def test_hf_state_keeps_null_apart_from_nan_and_the_summary_out_of_the_series(tmp_path: Path) -> None:
    path = tmp_path / "trainer_state.json"
    path.write_text(state(ROWS))
    (run,) = load(path)
    assert run.series["loss/train"].steps.tolist() == [10, 20]
    assert math.isnan(run.series["loss/train"].values[1])
    assert run.series["loss/val"].values.tolist() == [2.6]
    assert run.header.config["summary_train_loss"] == 0.01
    assert run.header.total_steps == 300


def test_hf_folders_give_their_newest_state(tmp_path: Path) -> None:
    for step in (9, 100):
        folder = tmp_path / "out" / f"checkpoint-{step}"
        folder.mkdir(parents=True)
        (folder / "trainer_state.json").write_text(state([{"step": step, "loss": 1.0}]))
    assert load(tmp_path / "out")[0].series["loss/train"].steps.tolist() == [100]
    assert load(tmp_path / "out" / "checkpoint-9")[0].series["loss/train"].steps.tolist() == [9]


def test_a_state_that_is_cut_off_is_read_up_to_the_break(tmp_path: Path) -> None:
    path = tmp_path / "trainer_state.json"
    path.write_text('{"log_history": [{"step": 1, "loss": 2.0}, {"step": 2, "loss": 1.9}, {"step": 3, "lo')
    (run,) = load(path)
    assert run.series["loss/train"].steps.tolist() == [1, 2]
    assert "partial-log" in [note.code for note in run.notes]


def test_json_lines_take_every_spelling_of_a_number(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    values = ["NaN", "Infinity", "null", '"3.5"', '"1,234.5"', '"12%"', '"5ms"', '"-inf"', "2e-4"]
    path.write_text("".join(f'{{"step": {step}, "loss": {value}}}\n' for step, value in enumerate(values)))
    (run,) = load(path)
    series = run.series["loss/train"]
    assert series.steps.tolist() == [0, 1, 3, 4, 5, 6, 7, 8]
    assert math.isnan(series.values[0])
    assert series.values[1:].tolist() == [math.inf, 3.5, 1234.5, 12.0, 5.0, -math.inf, 2e-4]


def test_json_lines_with_a_mode_put_val_rows_where_they_belong(tmp_path: Path) -> None:
    rows = [{"mode": "train", "epoch": epoch, "iter": it, "loss": 1.0 / (epoch * 3 + it)} for epoch in (1, 2, 3) for it in (1, 2, 3)]
    rows.insert(3, {"mode": "val", "epoch": 1, "iter": 9, "loss": 5.0, "AP": 0.5})
    path = tmp_path / "run.log.json"
    path.write_text('{"hook_msgs": {}}\n' + "".join(json.dumps(row) + "\n" for row in rows))
    (run,) = load(path)
    assert run.series["loss/train"].steps.tolist() == list(range(1, 10))
    assert run.series["loss/val"].steps.tolist() == [3]
    assert "metric/val/AP" in run.series


@pytest.mark.parametrize(
    "document",
    [
        [{"step": 0, "loss": 1.0}, {"step": 1, "loss": 0.5}],
        {"meta": {"name": "x"}, "history": [{"step": 0, "loss": 1.0}, {"step": 1, "loss": 0.5}]},
        {"loss": [1.0, 0.5], "step": [0, 1]},
        {"history": {"loss": {"0": 1.0, "1": 0.5}, "step": {"0": 0, "1": 1}}},
    ],
)
def test_json_documents_of_every_shape(document: object, tmp_path: Path) -> None:
    path = tmp_path / "history.json"
    path.write_text(json.dumps(document))
    (run,) = load(path)
    assert run.series["loss/train"].steps.tolist() == [0, 1]
    assert run.series["loss/train"].values.tolist() == [1.0, 0.5]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("epoch,step,train_loss_step,val_loss\n0,10,2.5,\n0,20,2.25,\n0,20,,3.0\n", [(10, 2.5), (20, 2.25)]),
        ("epoch,accuracy,loss,val_loss\r\r\n0,0.1,2.5,3.0\r\r\n1,0.2,2.25,3.0\r\r\n", [(0, 2.5), (1, 2.25)]),
        ("   epoch,   train/box_loss,  train/cls_loss,  lr/pg0\n      1,        1.5,      1.0,  0.01\n     2,      1.25,       1.0,  0.02\n", [(1, 2.5), (2, 2.25)]),
        ("epoch;loss\n1;2,5\n2;2,25\n", [(1, 2.5), (2, 2.25)]),
        ("Step\tTraining Loss\tValidation Loss\n10\t2.5\t3.0\n20\t2.25\t2.9\n", [(10, 2.5), (20, 2.25)]),
        ('"step","my run - train/loss"\n"10","2.5"\n"20","2.25"\n', [(10, 2.5), (20, 2.25)]),
        ("training_loss, val_loss\n2.5, 3.0\n2.25, 2.9\n", [(0, 2.5), (1, 2.25)]),
        ("key,value,timestamp,step\nloss,2.5,1,10\nval_loss,3.0,1,10\nloss,2.25,2,20\n", [(10, 2.5), (20, 2.25)]),
        ("_step,train/loss,train/global_step\n0,2.5,10\n1,2.25,20\n", [(10, 2.5), (20, 2.25)]),
        ("# made by hand\nstep,loss\n10,2.5\n20,2.25\n", [(10, 2.5), (20, 2.25)]),
    ],
)  # fmt: skip
def test_csv_of_every_dialect(text: str, expected: list[tuple[int, float]], tmp_path: Path) -> None:
    path = tmp_path / "metrics.csv"
    path.write_bytes(text.encode())
    (run,) = load(path)
    series = run.series["loss/train"]
    assert list(zip(series.steps.tolist(), series.values.tolist(), strict=True)) == expected


def test_an_empty_cell_is_missing_and_a_nan_cell_is_nan(tmp_path: Path) -> None:
    path = tmp_path / "metrics.csv"
    path.write_text("step,loss,lr\n1,nan,\n2,,0.1\n3,inf,0.2\n")
    (run,) = load(path)
    assert run.series["loss/train"].steps.tolist() == [1, 3]
    assert math.isnan(run.series["loss/train"].values[0])
    assert run.series["lr/0"].steps.tolist() == [2, 3]


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_compression_is_seen_by_its_magic_bytes_not_its_name(suffix: str, tmp_path: Path) -> None:
    text = b"step 1 loss 2.0\nstep 2 loss 1.9\n"
    data = gzip.compress(text) if suffix == ".gz" else zstandard.ZstdCompressor().compress(text)
    path = tmp_path / "train.log"
    path.write_bytes(data)
    assert load(path)[0].series["loss/train"].values.tolist() == [2.0, 1.9]


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stdin:
        buffer = io.BytesIO(b"step 1 loss 2.0\nstep 2 loss 1.9\n")

    monkeypatch.setattr(sys, "stdin", Stdin)
    (run,) = load("-")
    assert run.path == "-"
    assert len(run.series["loss/train"]) == 2


def test_a_folder_of_runs_gives_each_with_its_name(tmp_path: Path) -> None:
    for version in (0, 1):
        folder = tmp_path / f"version_{version}"
        folder.mkdir()
        (folder / "metrics.csv").write_text("step,train_loss\n1,2.0\n2,1.9\n")
    (tmp_path / "notes.bin").write_bytes(bytes(range(256)) * 4)
    assert [run.header.name for run in load(tmp_path)] == ["version_0/metrics.csv", "version_1/metrics.csv"]


def test_map_overrides_what_was_guessed(tmp_path: Path) -> None:
    path = tmp_path / "metrics.csv"
    path.write_text("n,quality,loss\n5,0.5,2.0\n6,0.4,1.9\n")
    (run,) = load(path, {"loss/train": "quality", "step": "n"})
    assert run.series["loss/train"].values.tolist() == [0.5, 0.4]
    assert run.series["loss/train"].steps.tolist() == [5, 6]
    with pytest.raises(UsageError, match="quality"):
        load(path, {"loss/train": "qality"})
    with pytest.raises(UsageError, match="loss/train"):
        load(path, {"los/train": "quality"})


def test_a_quoted_cell_may_go_on_over_several_lines(tmp_path: Path) -> None:
    path = tmp_path / "metrics.csv"
    path.write_text('"step","train\nloss","note"\n' + "".join(f'{step},{3 - step / 10},"a\nb, c"\n' for step in range(10)))
    (run,) = load(path)
    assert run.series["loss/train"].values.tolist() == [3 - step / 10 for step in range(10)]


def test_a_page_of_wandb_that_shows_two_runs_gives_two_runs_and_no_bounds(tmp_path: Path) -> None:
    path = tmp_path / "wandb_export.csv"
    names = [f"run-{run} - {key}{bound}" for run in "ab" for key in ("_step", "train/loss") for bound in ("", "__MIN", "__MAX")]
    row = "{step},{step},{step},{step},{a},{a},{a},,,,{b},{b},{b}\n"
    path.write_text(
        ",".join(["train/global_step", *names]) + "\n" + "".join(row.format(step=step, a=3 - step / 10, b=4.0) for step in range(10))
    )
    first, second = load(path)
    assert (first.header.name, second.header.name) == ("run-a", "run-b")
    assert first.series["loss/train"].values.tolist() == [3 - step / 10 for step in range(10)]
    assert second.series["loss/train"].steps.tolist() == list(range(10))
