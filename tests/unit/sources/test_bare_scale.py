"""A column that is called just ``scale``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

import sismo
from sismo.records.types import Run


def read(folder: Path, scales: Sequence[float | None], name: str = "scale") -> Run:
    path = folder / "log.jsonl"
    path.write_text("".join(json.dumps({"step": step, "loss": 2.0 - step / 100, name: scale}) + "\n" for step, scale in enumerate(scales)))
    run = sismo.load(path)
    assert isinstance(run, Run)
    return run


def test_powers_of_two_are_the_loss_scale(tmp_path: Path) -> None:
    run = read(tmp_path, [65536.0, None, 32768.0, 32768.0])
    assert run.series["loss_scale"].values.tolist() == [65536.0, 32768.0, 32768.0]


@pytest.mark.parametrize("scales", [[0.18, 0.18, 0.18], [1.0, 2.0, 4.0], [1000.0, 500.0, 250.0], [65536.0, float("nan"), 32768.0]])
def test_other_numbers_are_not(tmp_path: Path, scales: list[float]) -> None:
    assert "loss_scale" not in read(tmp_path, scales).series


def test_other_scales_are_not(tmp_path: Path) -> None:
    assert "loss_scale" not in read(tmp_path, [512.0, 512.0], "image_scale").series
