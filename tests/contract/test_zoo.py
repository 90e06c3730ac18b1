"""Every fault and every healthy kind of the lab: what it may change, and that it trains."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from sismo.dashboard.registry import panels
from sismo.lab.catalogue import faults, kinds, tasks
from sismo.lab.changes import setting
from sismo.lab.train import train
from sismo.lab.types import Setup
from sismo.tree.catalogue import causes

FAULTS, KINDS = faults(), kinds()
CIRCUMSTANCES = {"settings", "resume_at"}
"""What a fault may bring along so that it can happen at all: fp16 for a fault of the scaler, a resume for one of the resume."""


def short(task: str) -> Setup:
    rows = {"mini-gpt": 300, "conv-net": 400, "mlp": 400}[task]
    return setting(tasks()[task].setup, total_steps=10, warmup=4, rows=rows, batch=16, eval_every=5, save_every=2)


def changed(before: Setup, after: Setup) -> set[str]:
    return {field.name for field in fields(Setup) if getattr(before, field.name) != getattr(after, field.name)}


def test_the_zoo_is_as_large_as_promised() -> None:
    assert len(FAULTS) >= 30
    assert len(KINDS) >= 12
    assert len(tasks()) == 3


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_tells_the_truth_in_the_words_of_the_catalogue(name: str) -> None:
    fault = FAULTS[name]
    assert set(fault.truth) <= causes().keys()
    assert fault.panel in {panel.id for panel in panels()}
    assert set(fault.tasks) <= tasks().keys()
    assert 0 <= fault.onset < 1
    assert fault.title.endswith(".")


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_changes_one_part_of_the_loop(name: str) -> None:
    setup = short(FAULTS[name].tasks[0])
    parts = changed(setup, FAULTS[name].corrupt(setup)) - CIRCUMSTANCES
    assert len(parts) == 1 or (not parts and FAULTS[name].corrupt(setup).settings != setup.settings)


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_trains(name: str, tmp_path: Path) -> None:
    setup = FAULTS[name].corrupt(short(FAULTS[name].tasks[-1]))
    run = train(setup, tmp_path / "run")
    assert run.header.status == "completed"
    assert len(run.series["loss/train"].steps) == setup.settings.total_steps


@pytest.mark.parametrize("name", KINDS)
def test_a_healthy_kind_trains(name: str, tmp_path: Path) -> None:
    assert set(KINDS[name].allows) <= causes().keys()
    run = train(KINDS[name].change(short(KINDS[name].tasks[-1])), tmp_path / "run")
    assert run.header.status == "completed"
