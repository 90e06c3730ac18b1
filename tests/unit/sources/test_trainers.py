"""The log of every trainer is read with no flag: one run, its steps, its losses, its learning rate and norm."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.trainers import ALL, Row, Trainer

from sismo.records.types import Run
from sismo.sources import load

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
