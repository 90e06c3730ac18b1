"""Post-mortems of drawn failures and spikes as a person reads them, in both languages. ``make golden`` writes the expected files again."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sismo.cli.main import run as sismo
from sismo.lab.drawn.catalogue import faults
from sismo.lab.drawn.files import fitting, write
from sismo.lab.drawn.types import Noise

EXPECTED = Path(__file__).parent / "postmortems"
SEEDS = {"bad-init": 4, "missing-warmup": 4, "collapse-to-zero": 3, "recovered-spike": 0, "persistent-elevation": 2, "lr-jump": 4}
"""Three failures and three spikes, each at a seed that logs what its cause shows in."""


@pytest.mark.parametrize("code", ["en", "es"])
@pytest.mark.parametrize("name", SEEDS)
def test_it_reads_as_before(
    name: str, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sample = faults()[name].make(SEEDS[name], Noise.of(SEEDS[name]))
    path = write(sample.run, tmp_path, name, fitting(sample.run, SEEDS[name]))
    monkeypatch.chdir(tmp_path)
    assert sismo(["postmortem", path.name, "--lang", code]) == 0
    text = capsys.readouterr().out
    assert sample.expects[0] in text
    expected = EXPECTED / f"{name}.{code}.txt"
    if os.environ.get("SISMO_WRITE_GOLDEN"):
        expected.write_text(text, encoding="utf-8", newline="\n")
    assert text == expected.read_text(encoding="utf-8")
