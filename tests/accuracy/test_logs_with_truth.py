"""Logs written independently of the readers: what is said about them, against their truth."""

from __future__ import annotations

import pytest
from support.truths import Truth
from support.typed_truths import LOGS

from sismo.bench.verdicts import Verdict, of_file

SURE = 0.75
"""Confidence from which a wrong cause counts as told with confidence."""


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Verdict]:
    found: dict[str, Verdict] = {}
    for at, log in enumerate(LOGS):
        path = tmp_path_factory.mktemp(f"log{at}") / log.file
        path.write_text(log.text, encoding="utf-8")
        found[log.name] = of_file(path)
    return found


def of(status: str) -> list[Truth]:
    return [log for log in LOGS if log.status == status]


def test_there_are_forty_and_none_is_refused(verdicts: dict[str, Verdict]) -> None:
    assert len(LOGS) >= 40
    assert [name for name, verdict in verdicts.items() if verdict.error] == []


def test_no_healthy_log_gets_a_warning(verdicts: dict[str, Verdict]) -> None:
    assert [(log.name, verdicts[log.name].alarm) for log in of("healthy") if verdicts[log.name].alarm] == []


def test_a_log_that_is_too_short_gets_no_verdict(verdicts: dict[str, Verdict]) -> None:
    assert all(verdicts[log.name].alarm is None and not verdicts[log.name].healthy for log in of("unknown"))


def test_the_right_cause_comes_first(verdicts: dict[str, Verdict]) -> None:
    wrong = [(log.name, verdicts[log.name].first) for log in of("broken") if not is_right(log, verdicts[log.name])]
    assert len(wrong) <= 0.1 * len(of("broken")), wrong


def test_no_wrong_cause_is_told_with_confidence(verdicts: dict[str, Verdict]) -> None:
    alarms = [(log, verdicts[log.name].alarm) for log in of("broken") if not is_right(log, verdicts[log.name])]
    assert [(log.name, alarm) for log, alarm in alarms if alarm is not None and alarm.confidence >= SURE] == []


def is_right(log: Truth, verdict: Verdict) -> bool:
    return verdict.first is not None and verdict.first.id in log.causes
