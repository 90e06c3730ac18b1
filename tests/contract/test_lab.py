"""Every fault and healthy kind of the lab: true to the catalogue, and each fault a change of exactly one thing."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from sismo.dashboard.registry import panels
from sismo.lab.catalogue import faults, kinds, tasks
from sismo.lab.types import Fault, Healthy, Settings, Setup
from sismo.tree.catalogue import causes

CIRCUMSTANCES = {"settings", "resume_at"}
"""What a fault may bring along so that it can happen at all: fp16 for a fault of the scaler, a resume for one of the resume."""


def changed(before: object, after: object, kind: type) -> list[str]:
    return [field.name for field in fields(kind) if getattr(before, field.name) is not getattr(after, field.name)]


@pytest.mark.parametrize("fault", faults().values(), ids=faults())
def test_a_fault_is_true_to_the_catalogue(fault: Fault) -> None:
    assert fault.truth
    assert set(fault.truth) <= causes().keys()
    assert set(fault.tasks) <= tasks().keys()
    assert fault.panel in {panel.id for panel in panels()}
    assert fault.title.endswith(".")
    assert 0 <= fault.onset < 1


@pytest.mark.parametrize("fault", faults().values(), ids=faults())
def test_a_fault_changes_exactly_one_thing(fault: Fault) -> None:
    for name in fault.tasks:
        setup = tasks()[name].setup
        parts = set(changed(setup, fault.corrupt(setup), Setup))
        assert len(parts - CIRCUMSTANCES) == 1 or parts == {"settings"}, parts


@pytest.mark.parametrize("kind", kinds().values(), ids=kinds())
def test_a_healthy_kind_is_true_to_the_catalogue(kind: Healthy) -> None:
    assert set(kind.allows) <= causes().keys()
    assert set(kind.tasks) <= tasks().keys()
    assert kind.title.endswith(".")


def test_no_id_is_used_twice() -> None:
    assert not faults().keys() & kinds().keys()


def test_what_a_fault_changes_begins_where_it_says() -> None:
    fault = replace(next(iter(faults().values())), onset=0.5)
    assert fault.step(Settings(total_steps=600)) == 300
