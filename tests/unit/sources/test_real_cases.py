"""Real logs that lie beside the checkout on some machines; skipped where they do not."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from sismo.errors import SourceError
from sismo.records.channels import is_channel
from sismo.sources import load

CASES = Path(__file__).resolve().parents[4] / "shared" / "cases"
LISTED = [json.loads(line) for line in (CASES / "cases.jsonl").read_text().splitlines()] if (CASES / "cases.jsonl").is_file() else []

pytestmark = pytest.mark.skipif(not LISTED, reason="the real logs are not on this machine")


@pytest.mark.parametrize("case", LISTED, ids=lambda case: case["id"])
def test_every_log_is_read_or_refused_with_one_line(case: dict[str, str]) -> None:
    try:
        runs = load(CASES / case["path"])
    except SourceError as error:
        pytest.fail(str(error))
    for run in runs:
        assert all(is_channel(name) for name in run.series)
        assert all(str(note) for note in run.notes)
        assert [event.step for event in run.events] == sorted(event.step for event in run.events)


def case_path(name: str) -> Path:
    return CASES / "files" / name


def test_the_event_file_agrees_with_the_state_of_the_same_run() -> None:
    (events,) = load(case_path("te_t5.tfevents"))
    (state,) = load(case_path("ts_t5_summ.json"))
    for channel in ("loss/train", "grad_norm/pre", "lr/0"):
        left, right = events.series[channel], state.series[channel]
        assert left.steps.tolist() == right.steps.tolist()
        assert np.allclose(left.values, right.values, rtol=1e-6)


@pytest.mark.parametrize(
    ("name", "runs", "rows"),
    [
        ("kc_chance_ln2.csv", 3, 8),
        ("wb_flat.log", 115, 1),
        ("tx_slurm_folds.out", 4, 100),
        ("mm_pose_epochiter.log.json", 1, 1725),
        ("lc_llmc.log", 1, 7469),
        ("ol_olmo_resume.log", 1, 527),
        ("fs_moe_leak.log", 1, 340),
    ],
)
def test_runs_and_rows(name: str, runs: int, rows: int) -> None:
    found = load(case_path(name))
    assert len(found) == runs
    assert max(len(run.series["loss/train"]) for run in found) == rows
