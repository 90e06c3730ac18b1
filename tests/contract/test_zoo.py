"""Every fault and every healthy kind of the lab trains to its end."""

from __future__ import annotations

from pathlib import Path

import pytest

from sismo.lab.catalogue import faults, kinds, tasks
from sismo.lab.changes import setting
from sismo.lab.train import train
from sismo.lab.types import Setup

FAULTS, KINDS = faults(), kinds()


def short(task: str) -> Setup:
    rows = {"mini-gpt": 300, "conv-net": 400, "mlp": 400}[task]
    return setting(tasks()[task].setup, total_steps=10, warmup=4, rows=rows, batch=16, eval_every=5, save_every=2)


def test_the_zoo_is_as_large_as_promised() -> None:
    assert len(FAULTS) >= 30
    assert len(KINDS) >= 12
    assert len(tasks()) == 3


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_trains(name: str, tmp_path: Path) -> None:
    setup = FAULTS[name].corrupt(short(FAULTS[name].tasks[-1]))
    run = train(setup, tmp_path / "run")
    assert run.header.status == "completed"
    assert len(run.series["loss/train"].steps) == setup.settings.total_steps


@pytest.mark.parametrize("name", KINDS)
def test_a_healthy_kind_trains(name: str, tmp_path: Path) -> None:
    run = train(KINDS[name].change(short(KINDS[name].tasks[-1])), tmp_path / "run")
    assert run.header.status == "completed"
