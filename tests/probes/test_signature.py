"""An overflow of fp16 is told from a NaN in fp32 by the user's table of signatures, and a replay in fp32 settles what it leaves open."""

from __future__ import annotations

import dataclasses

import pytest

from sismo.judge import judge
from sismo.lab.drawn.catalogue import faults
from sismo.lab.drawn.types import Noise
from sismo.records.types import Event, Run
from sismo.tree.types import Answer, Diagnosis

SEEDS = range(20)


def drawn(fault: str, seed: int) -> Run:
    return faults()[fault].make(seed, list(Noise)[seed % len(Noise)]).run


def ids(found: Diagnosis) -> list[str]:
    return [finding.cause.id for finding in found.findings]


def answer(found: Diagnosis, question: str) -> Answer | None:
    return next((visit.answer for visit in found.path if visit.node.id == question), None)


@pytest.mark.parametrize("seed", SEEDS)
def test_twenty_of_each_are_told_apart(seed: int) -> None:
    overflow, structural = judge(drawn("fp16-overflow", seed)), judge(drawn("nan-abrupt", seed))
    assert "fp16-overflow" in ids(overflow)
    assert "log-of-zero" not in ids(overflow)
    assert "log-of-zero" in ids(structural)
    assert not {"fp16-overflow", "loss-scale-collapse"} & set(ids(structural))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_replay_in_fp32_answers_what_the_table_leaves_open(seed: int) -> None:
    run = drawn("fp16-overflow", seed)
    step = int(run.series["loss/train"].steps[-1])
    before = judge(run)
    clean = judge(dataclasses.replace(run, events=(*run.events, Event(step, "probe", {"probe": "replay", "fp32": "clean"}))))
    fails = judge(dataclasses.replace(run, events=(*run.events, Event(step, "probe", {"probe": "replay", "fp32": "fails"}))))
    assert answer(clean, "S3.Q3") is Answer.YES
    assert confidence(clean) > confidence(before)
    assert "fp16-overflow" not in ids(fails)


def confidence(found: Diagnosis) -> float:
    return next(finding.confidence for finding in found.findings if finding.cause.id == "fp16-overflow")
