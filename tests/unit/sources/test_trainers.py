"""The log of every trainer is read with no flag: one run, its steps, its losses, its learning rate and norm."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sismo.bench.trainers import ALL, Row, Trainer
from sismo.records.types import Run
from sismo.sources import load
from sismo.sources.base import Column, Table
from sismo.sources.content import open_content
from sismo.sources.formats import text

_FIELDS = {"loss/train": "loss", "loss/val": "val", "lr/0": "lr", "grad_norm/pre": "norm"}


def read(trainer: Trainer, rows: list[Row], folder: Path) -> Run:
    path = folder / trainer.file
    path.write_text(trainer.text(rows), encoding="utf-8")
    runs = load(path)
    assert len(runs) == 1
    return runs[0]


@pytest.mark.parametrize("trainer", ALL.values(), ids=ALL)
def test_the_log_of_a_trainer_is_read_with_no_flag(trainer: Trainer, tmp_path: Path) -> None:
    rows = trainer.rows(40)
    run = read(trainer, rows, tmp_path)
    for channel in trainer.has:
        field = _FIELDS.get(channel)
        if field is None:
            assert channel in run.series
            continue
        truth = {row.step: getattr(row, field) for row in rows if getattr(row, field) is not None}
        series = run.series[channel]
        assert series.steps.tolist() == list(truth), channel
        assert np.allclose(series.values, list(truth.values()), rtol=trainer.rtol, atol=1e-6), channel


@pytest.mark.parametrize("trainer", ALL.values(), ids=ALL)
def test_a_loss_that_becomes_nan_stays_nan_where_it_was(trainer: Trainer, tmp_path: Path) -> None:
    rows = [row._replace(loss=float("nan")) if at >= 30 else row for at, row in enumerate(trainer.rows(40))]
    loss = read(trainer, rows, tmp_path).series["loss/train"]
    assert loss.steps[np.isnan(loss.values)].tolist() == [row.step for row in rows[30:]]


def table(path: Path) -> Table:
    (read,) = text.FORMAT.read(open_content(str(path)))
    assert isinstance(read, Table)
    return read


def same(one: Column, other: Column) -> bool:
    return np.array_equal(one.present, other.present) and np.array_equal(one.values, other.values, equal_nan=True)


def equal(one: Table, other: Table) -> bool:
    alike = (one.n_rows, one.marks, list(one.columns)) == (other.n_rows, other.marks, list(other.columns))
    return alike and all(same(column, other.columns[key]) for key, column in one.columns.items())


NUMBERS = st.one_of(
    st.floats(-1e6, 1e6, width=32),
    st.floats(0, 20).map(lambda value: round(value, 4)),
    st.sampled_from([0.0, 1e-7, 12345.678, float("nan"), float("inf")]),
)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    trainer=st.sampled_from([trainer for trainer in ALL.values() if trainer.file.endswith((".log", ".txt"))]),
    losses=st.lists(NUMBERS, min_size=20, max_size=60),
    every=st.sampled_from([1, 7, 999, 12345]),
)
def test_lines_read_by_a_template_give_what_reading_them_one_by_one_gives(
    trainer: Trainer, losses: list[float], every: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / trainer.file
    rows = [Row(at * every, loss, abs(loss) / 7, loss * 1.5, loss if at % 9 == 8 else None) for at, loss in enumerate(losses)]
    path.write_text(trainer.text(rows), encoding="utf-8")
    with monkeypatch.context() as patch:
        patch.setattr(text, "LEARN_AFTER", 10**9)
        slow = table(path)
    assert equal(table(path), slow)
