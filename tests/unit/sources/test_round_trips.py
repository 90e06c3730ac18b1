"""What is written comes back, NaN and missing kept apart, whatever the container; and the fast reader equals the tolerant one."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sismo.sources import load
from sismo.sources.columnar import add_columns
from sismo.sources.formats.json_lines import add_lines
from sismo.sources.numbers import number
from sismo.sources.rows import RowBuilder

SETTINGS = settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
VALUES = st.one_of(st.none(), st.floats(width=64))
ROWS = st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=40).filter(lambda rows: any(row[0] is not None for row in rows))


def same(left: float, right: float) -> bool:
    return left == right or (math.isnan(left) and math.isnan(right))


def check(path: Path, rows: list[tuple[float | None, float | None]]) -> None:
    (run,) = load(path)
    for channel, column in (("loss/train", 0), ("grad_norm/pre", 1)):
        expected = [(step, row[column]) for step, row in enumerate(rows) if row[column] is not None]
        series = run.get(channel)
        assert (series is None) == (not expected)
        if series is not None:
            assert series.steps.tolist() == [step for step, _ in expected]
            assert all(same(got, value) for got, (_, value) in zip(series.values.tolist(), expected, strict=True) if value is not None)


def as_json_lines(rows: list[tuple[float | None, float | None]]) -> str:
    return "".join(json.dumps({"step": step, "loss": row[0], "grad_norm": row[1]}) + "\n" for step, row in enumerate(rows))


@SETTINGS
@given(rows=ROWS)
def test_json_lines(rows: list[tuple[float | None, float | None]], tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(as_json_lines(rows))
    check(path, rows)


@SETTINGS
@given(rows=ROWS)
def test_csv(rows: list[tuple[float | None, float | None]], tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    cells = ["" if value is None else repr(value) for row in rows for value in row]
    path.write_text("step,loss,grad_norm\n" + "".join(f"{step},{cells[2 * step]},{cells[2 * step + 1]}\n" for step in range(len(rows))))
    check(path, rows)


@SETTINGS
@given(rows=ROWS)
def test_hf_state(rows: list[tuple[float | None, float | None]], tmp_path: Path) -> None:
    path = tmp_path / "trainer_state.json"
    history = [{"step": step, "loss": row[0], "grad_norm": row[1]} for step, row in enumerate(rows)]
    path.write_text(json.dumps({"log_history": history}))
    check(path, rows)


@SETTINGS
@given(rows=ROWS)
def test_the_columnar_reader_gives_what_the_tolerant_one_gives(rows: list[tuple[float | None, float | None]]) -> None:
    check_readers(as_json_lines(rows).strip().split("\n"))


def begun() -> RowBuilder:
    """With as many rows as may be settings."""
    builder = RowBuilder("json-lines")
    add_lines(builder, '{"step": 0}\n' * 3)
    return builder


def check_readers(lines: list[str]) -> None:
    columnar, tolerant = begun(), begun()
    assert add_columns(columnar, "\n".join(lines))
    add_lines(tolerant, "\n".join(lines))
    fast, slow = columnar.table(), tolerant.table()
    assert fast.n_rows == slow.n_rows
    assert not slow.config
    assert not slow.notes
    assert set(fast.columns) == set(slow.columns)
    for key, column in slow.columns.items():
        assert np.array_equal(column.present, fast.columns[key].present)
        assert np.array_equal(column.values, fast.columns[key].values, equal_nan=True)


@pytest.mark.parametrize(
    "lines",
    [
        ['{"step": 1, "took": "0:00:10", "loss": 2}', '{"step": 2, "took": "0:00:20", "loss": 1.5, "note": "saved"}'],
        ['{"step": 1, "at": "2024-05-01 10:00:00", "loss": 2}', '{"step": 2, "at": "2024-05-01", "loss": 1.5}'],
        ['{"data": {"step": 1, "loss": {"total": 2.5, "ce": NaN}}, "run": "a"}', '{"data": {"step": 2, "loss": {"total": 2}}, "run": "a"}'],
        ['{"step": 1, "loss": 2}', '{"step": 2, "loss": 1, "eval": {"loss": 3, "acc": null}}', '{"step": 3, "eval": {}}'],
        ['{"step": 1, "mode": "train", "epoch": 1, "iter": 5, "loss": 2}', '{"mode": "val", "epoch": 1, "iter": 9, "loss": 3}'],
        ['{"step": 1, "split": "test", "loss": 2}', '{"step": 2, "split": null, "loss": 2}', '{"step": 2, "split": "eval", "acc": 2}'],
        ['{"step": 1, "done": true, "boxes": [1, 2], "loss": 2}', '{"step": 2, "done": false, "boxes": [], "loss": 1}'],
        ['{"a": ' * 12 + '{"step": 1, "loss": 2}' + "}" * 12, '{"a": ' * 12 + '{"step": 2, "loss": 1}' + "}" * 12],
    ],
)
def test_the_columnar_reader_takes_words_and_nested_objects(lines: list[str]) -> None:
    check_readers(lines)


@pytest.mark.parametrize(
    "line",
    [
        '{"step": 2, "loss": "1.5"}',
        '{"step": 2, "loss": {"a": 1}}',
        '{"step": 2, "loss": 1.5',
        "{'step': 2}",
        '{"note": "x"}',
        '{"step": 2, "eta": "12"}',
        '{"step": 2, "mode": "val", "split": "eval", "loss": 1.5}',
        '{"step": 2, "mode": "1", "loss": 1.5}',
        '{"step": 2} {"step": 3}',
        '{"step": 2,\n"loss": 3}',
        '{"model": "m"}',
        '{"a": ' * 13 + '{"loss": 2}' + "}" * 13,
        "epoch 2",
        '{"step": 2, "loss": true}',
    ],
)
def test_the_columnar_reader_leaves_what_is_irregular_to_the_tolerant_one(line: str) -> None:
    builder = begun()
    assert not add_columns(builder, '{"step": 1, "loss": 2.0}\n' + line + "\n" + '{"step": 3, "loss": 1.0}')
    assert builder.n_rows == 3
    assert not add_columns(RowBuilder("json-lines"), '{"step": 1, "seed": 1}')


@given(value=st.floats(allow_nan=False))
def test_numbers_read_back_what_is_printed(value: float) -> None:
    assert number(repr(value)) == value
    if abs(value) < 1e15:
        assert number(f"{value:,.3f}") == float(f"{value:.3f}")


@given(text=st.text(max_size=30))
def test_any_text_is_a_number_or_none(text: str) -> None:
    assert number(text) is None or isinstance(number(text), float)


@pytest.mark.slow
def test_a_million_rows_in_bounded_memory(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    with open(path, "w") as file:
        file.writelines(f'{{"step": {step}, "loss": {3 - step / 1e6:.6f}, "lr": 1e-4, "grad_norm": 0.5}}\n' for step in range(1_000_000))
    (run,) = load(path)
    assert len(run.series["loss/train"]) == 1_000_000
