"""Tables with one metric a row, tables with a column that tells train from val, and charts saved one by one."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sismo.sources import load

ROWS = [(step, name, round(value, 3)) for step in range(0, 200, 10) for name, value in (("train_loss", 4 - step / 100), ("lr", 0.01))]


def written(path: Path, rows: list[tuple[object, ...]], header: str = "step,metric,value") -> Path:
    path.write_text("\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("order", ["by step", "by metric"])
def test_one_metric_a_row_is_one_run_however_it_is_sorted(order: str, tmp_path: Path) -> None:
    rows = ROWS if order == "by step" else sorted(ROWS, key=lambda row: row[1])
    (run,) = load(written(tmp_path / "log.csv", list(rows)))
    for channel, name in (("loss/train", "train_loss"), ("lr/0", "lr")):
        assert list(zip(run.series[channel].steps.tolist(), run.series[channel].values.tolist(), strict=True)) == [
            (step, value) for step, key, value in ROWS if key == name
        ]


def test_a_metric_whose_step_falls_back_was_taken_up_again(tmp_path: Path) -> None:
    again = [row for row in ROWS if row[0] >= 150]
    (run,) = load(written(tmp_path / "log.csv", sorted([*ROWS, *again], key=lambda row: row[1])))
    assert [event.kind for event in run.events] == ["resume"]
    assert run.series["loss/train"].steps.tolist() == list(range(0, 200, 10))


def test_runs_that_a_column_tells_apart_are_read_apart(tmp_path: Path) -> None:
    rows = [(run, key, value, step) for run in ("a1", "b2") for step, key, value in sorted(ROWS, key=lambda row: row[1])]
    first, second = load(written(tmp_path / "metrics.csv", rows, "run_uuid,key,value,step"))
    assert len(first.series["loss/train"]) == len(second.series["loss/train"]) == 20


@settings(max_examples=30, deadline=None)
@given(st.randoms(use_true_random=False), st.integers(1, 5))
def test_the_order_of_the_metrics_does_not_matter(order: random.Random, metrics: int) -> None:
    from tempfile import TemporaryDirectory

    names = [("train_loss", "val_loss", "lr", "grad_norm", "accuracy")[at] for at in range(metrics)]
    columns = {name: [(step, name, at + step) for step in range(30)] for at, name in enumerate(names)}
    order.shuffle(names)
    rows: list[tuple[object, ...]] = []
    left = {name: list(columns[name]) for name in names}
    while left:  # any interleaving that keeps each metric's own order
        name = order.choice(sorted(left))
        rows.append(left[name].pop(0))
        if not left[name]:
            del left[name]
    with TemporaryDirectory() as folder:
        (run,) = load(written(Path(folder) / "log.csv", rows))
    assert {tuple(series.steps.tolist()) for series in run.series.values()} == {tuple(range(30))}
    assert len(run.series) == metrics


@pytest.mark.parametrize("word", ["val", "Valid", "eval", "test", "dev"])
@pytest.mark.parametrize("column", ["split", "phase", "Mode"])
def test_a_column_of_words_tells_train_rows_from_val_rows(word: str, column: str, tmp_path: Path) -> None:
    rows = [(epoch, side, loss) for epoch in range(30) for side, loss in (("train", 2 - epoch / 20), (word, 2.5 - epoch / 20))]
    (run,) = load(written(tmp_path / "log.csv", list(rows), f"epoch,{column},loss"))
    assert run.header.step_unit == "epoch"
    assert run.series["loss/train"].values[0] == 2.0
    (held,) = (series for name, series in run.series.items() if name.startswith("loss/") and name != "loss/train")
    assert held.steps.tolist() == run.series["loss/train"].steps.tolist()
    assert held.values[0] == 2.5


@pytest.mark.parametrize("name", ["run-.-tag-train_loss.csv", "run-lr1e-3-tag-train_loss (1).csv"])
def test_a_chart_that_was_saved_from_tensorboard_is_named_by_its_file(name: str, tmp_path: Path) -> None:
    rows = [(1.7e9 + step, step, 3 - step / 50) for step in range(0, 100, 5)]
    (run,) = load(written(tmp_path / name, list(rows), "Wall time,Step,Value"))
    assert run.series["loss/train"].steps.tolist() == list(range(0, 100, 5))
