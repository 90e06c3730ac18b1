"""The benches of size: what they write is what they say, and a small round of each runs through."""

from __future__ import annotations

from pathlib import Path

import pytest

from sismo.bench import fleet, growth
from sismo.judge import judge
from sismo.records.reader import read_run


def test_a_run_has_the_rows_and_series_that_were_asked_for(tmp_path: Path) -> None:
    growth.write_run(tmp_path / "run", 300, 12)
    run = read_run(tmp_path / "run")
    assert len(run.series) == 12
    assert {len(series) for series in run.series.values()} == {300}
    assert judge(run).healthy is True


def test_a_fleet_has_the_runs_that_were_asked_for(tmp_path: Path) -> None:
    fleet.write_runs(tmp_path, 103)
    assert len(list(tmp_path.glob("*/manifest.json"))) == 103
    assert len(read_run(tmp_path / "00102").series["loss/train"]) == 250


@pytest.mark.slow
def test_a_small_round_of_each(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    growth.run([200], [5])
    fleet.write_runs(tmp_path / "runs", 40)
    first = fleet.scan(tmp_path / "runs", tmp_path / "out", "--jobs", "1")
    assert len(first.table) == 40
    assert first.cpu > 0
    assert "200 steps, 3 series" in capsys.readouterr().out
