"""The trainer: the same run at the same seed, a run that dies and comes back, and what it records."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from sismo.lab.catalogue import faults, tasks
from sismo.lab.changes import setting
from sismo.lab.models.mini_gpt import MiniGPT
from sismo.lab.train import log_only, train
from sismo.lab.types import Settings, Setup
from sismo.records.types import Header, Run


def short(steps: int = 12, **values: object) -> Setup:
    settings = {"total_steps": steps, "rows": 300, "warmup": 4, "eval_every": 5, "save_every": 4, **values}
    return setting(tasks()["mini-gpt"].setup, **settings)


def same(one: Run, other: Run) -> bool:
    return one.series.keys() == other.series.keys() and all(
        np.array_equal(series.steps, other.series[name].steps) and np.array_equal(series.values, other.series[name].values)
        for name, series in one.series.items()
    )


def groups(header: Header) -> object:
    known = header.config["sismo"]
    assert isinstance(known, dict)
    return known["groups"]


def test_the_model_is_that_of_the_document() -> None:
    model = MiniGPT(Settings())
    assert sum(parameter.numel() for parameter in model.parameters()) == 103_040
    tokens = torch.randint(0, 512, (2, 64))
    later = tokens.clone()
    later[:, 40:] = 7
    moved = (model(tokens) - model(later)).abs().amax((0, 2))
    assert not moved[:40].any()
    assert moved[40:].any()


def test_the_same_seed_gives_the_same_run_and_another_seed_another(tmp_path: Path) -> None:
    torch.manual_seed(99)
    before = torch.get_rng_state()
    one = train(short(), tmp_path / "one")
    assert torch.get_rng_state().equal(before)
    torch.rand(1)
    assert same(one, train(short(), tmp_path / "two"))
    assert not same(one, train(short(seed=1), tmp_path / "three"))


def test_a_run_records_what_the_page_needs(tmp_path: Path) -> None:
    run = train(short(), tmp_path / "run")
    assert run.header.status == "completed"
    assert run.header.vocab_size == 512
    assert (run.header.total_steps, run.header.warmup_steps, run.header.clip, run.header.checkpoint_every) == (12, 4, 1.0, 4)
    families = {name.partition("/")[0] for name in run.series}
    assert {"loss", "loss_class", "lr", "grad_norm", "act_mean_abs", "spectral", "head_entropy", "weight_norm"} <= families
    assert run.series["loss/val"].steps.tolist() == [0, 5, 10, 11]
    assert {"loss_class/regular", "loss_class/irregular"} <= run.series.keys()
    log = log_only(run)
    assert {name.partition("/")[0] for name in log.series} == {"loss", "lr", "grad_norm"}
    assert not log.events
    assert not log.header.config


def test_a_run_that_dies_and_comes_back_whole_goes_on_as_if_nothing_had_been(tmp_path: Path) -> None:
    whole = train(short(dropout=0.1), tmp_path / "whole")
    died = train(replace(short(dropout=0.1), resume_at=10), tmp_path / "died")
    assert np.array_equal(whole.series["loss/train"].values, died.series["loss/train"].values)
    assert [event.step for event in died.events_of("resume")] == [8], "where it goes on: at its last checkpoint"


def test_the_configuration_does_not_tell_what_the_code_does(tmp_path: Path) -> None:
    told = [train(faults()[name].corrupt(short()), tmp_path / name).header for name in ("bad-init", "no-warmup", "broken-mask")]
    plain = train(short(), tmp_path / "healthy").header
    for header in told:
        assert header._replace(config={}) == plain._replace(config={})
        kept = {key: value for key, value in header.config.items() if key != "sismo"}
        assert kept == {key: value for key, value in plain.config.items() if key != "sismo"}
        assert groups(header) == groups(plain)
