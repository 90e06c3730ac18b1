"""A log of every format is written as long as asked, and timed by a process of its own."""

from __future__ import annotations

import pytest

from sismo.bench import formats
from sismo.bench.speed import Taken


def test_a_format_is_measured_with_the_lines_that_were_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    (reading,) = formats.measured(2000, ["keras-1"])
    assert abs(reading.lines - 2000) < 100
    assert 0 < reading.taken.cpu
    assert 10 < reading.taken.megabytes < 400
    assert formats.run(2000, ["keras-history", formats.EVENTS]) in (True, False)
    assert "keras-history                 2,000 lines" in capsys.readouterr().out


def test_a_reading_is_held_against_the_targets_for_a_million_lines() -> None:
    assert formats.Reading("a", 10, Taken(9.9, 399, 4.9)).met(1000)
    assert formats.Reading("a", 10, Taken(9.9, 399, 9.9)).met(2_000_000)
    assert not formats.Reading("a", 10, Taken(9.9, 399, 5.1)).met(1_000_000)
    assert not formats.Reading("a", 10, Taken(9.9, 401, 0.1)).met(1000)
