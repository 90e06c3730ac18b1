"""What only a probe can answer: the run leaves the question open, ``sismo probe`` is run on it, and ``sismo diagnose`` has the answer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from recorder import loops

from sismo.cli.main import run as cli
from sismo.recorder import Recorder


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """A run of 16 steps with a checkpoint and the batches round its last one; its panels looked once, so that little is known."""
    folder = tmp_path / "run"
    model, optimizer = loops.build(dropout=0.0)
    with Recorder(model, optimizer, folder, save_every=8) as recorder:
        loops.train(model, optimizer, 16, recorder.step)
    kept = loops.batches(3)
    (folder / "batches").mkdir()
    for step, batch in zip((13, 14, 15), kept, strict=True):
        torch.save(batch, folder / "batches" / f"step-{step:09d}.pt")
    return folder


def diagnosed(folder: Path, capsys: pytest.CaptureFixture[str]) -> tuple[dict[str, str], list[str]]:
    """Every question with its answer, and the causes."""
    capsys.readouterr()
    cli(["diagnose", str(folder), "--json", "--fail-on", "never"])
    document = json.loads(capsys.readouterr().out)
    (document,) = document["runs"]
    return {item["id"]: item["answer"] for item in document["walk"]}, [cause["id"] for cause in document["causes"]]


CASES = {
    "P3.Q1": ("leakage", "unlabelled", "all-labels-masked"),
    "P3.Q3": ("leakage", "overlapping", "train-val-overlap"),
    "P4.Q1": ("flow", "cut_off", "frozen-by-mistake"),
    "P4.Q2": ("flow", "piles", "missing-zero-grad"),
    "P4.Q3": ("flow", "clips_scaled", "clip-before-unscale"),
    "P4.Q4": ("flow", "evaluates", "train-in-eval-mode"),
    "P5.Q1": ("init", "large", ""),
    "P5.Q2": ("init", "dying", "vanishing-gradients"),
    "P5.Q3": ("causal", "sees_ahead", "causal-mask-broken"),
    "P7.Q1": ("replay", "flaky", "hardware-fault"),
}
"""A question, the probe that answers it, an entry point at which the answer is yes, and the cause that follows. None follows from weights
that start too large here, as the first gradient norm of this run speaks against it."""


@pytest.mark.parametrize("question", CASES)
def test_a_probe_says_yes_and_names_the_cause(question: str, recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    probe, entry, cause = CASES[question]
    before, causes = diagnosed(recorded, capsys)
    assert before.get(question) != "yes"
    assert cause not in causes
    assert cli(["probe", probe, "--entry", f"probes.entries:{entry}", "--run", str(recorded)]) == 1
    after, causes = diagnosed(recorded, capsys)
    assert after[question] == "yes"
    assert not cause or cause in causes


@pytest.mark.parametrize("question", ["P3.Q1", "P4.Q1", "P5.Q1", "P5.Q3", "P7.Q1"])
def test_a_sound_probe_closes_the_question(question: str, recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    probe = CASES[question][0]
    before, _ = diagnosed(recorded, capsys)
    assert cli(["probe", probe, "--entry", "probes.entries:whole", "--run", str(recorded)]) == 0
    after, causes = diagnosed(recorded, capsys)
    assert after[question] != "yes"
    assert not set(causes) & {cause for _, _, cause in CASES.values()}
    assert sum(said == "unknown" for said in after.values()) <= sum(said == "unknown" for said in before.values())


@pytest.mark.parametrize("question", ["P4.Q4", "P5.Q3"])
def test_what_nothing_recorded_can_answer_is_open_before_and_closed_after(
    question: str, recorded: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert diagnosed(recorded, capsys)[0][question] == "unknown"
    cli(["probe", CASES[question][0], "--entry", "probes.entries:whole", "--run", str(recorded)])
    assert diagnosed(recorded, capsys)[0][question] == "no"
