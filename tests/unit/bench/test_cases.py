"""The classes of a verdict on a real case, the totals, and what happens when there are no cases."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sismo.bench.cases import Case, Outcome, classify, judge_all, main, totals
from sismo.bench.labels import LABELS, SYMPTOMS
from sismo.bench.verdicts import Named, Verdict
from sismo.tree.catalogue import causes

_NOTE_CODES = {"several-runs", "too-few-points", "metric-nan-only", "rounded-values", "train-loss-artefact-after-resume"}


def _named(cause: str, severity: str = "broken", confidence: float = 0.9, twins: tuple[str, ...] = ()) -> Named:
    return Named(cause, severity, confidence, None, twins)


def _class(status: str, label: str, verdict: Verdict) -> str:
    return classify(Case("x", "x.log", status, label), LABELS[label], verdict)


@pytest.mark.parametrize(
    ("status", "label", "verdict", "expected"),
    [
        ("broken", "overfit", Verdict((_named("overfitting"),)), "right"),
        ("broken", "overfit", Verdict((_named("overfitting", "note"),)), "right"),
        ("broken", "log_of_zero", Verdict((_named("zero-over-zero", twins=("log-of-zero",)),)), "right-pair"),
        ("broken", "missing_warmup", Verdict((_named("lr-too-high"),)), "right-family"),
        ("broken", "overfit", Verdict((_named("silent-divergence"),)), "symptom"),
        ("broken", "overfit", Verdict(healthy=None), "unknown-honest"),
        ("broken", "overfit", Verdict(healthy=True), "missed"),
        ("broken", "overfit", Verdict((_named("lr-jump", confidence=0.5),)), "wrong-quiet"),
        ("broken", "overfit", Verdict((_named("lr-jump"),)), "CONFIDENTLY WRONG"),
        ("broken", "overfit", Verdict(error="x: no loss"), "unreadable"),
        ("healthy", "healthy", Verdict(error="IndexError: x", crashed=True), "CRASHED"),
        ("suspicious", "multi_run_file", Verdict((_named("overfitting"),), codes=frozenset({"several-runs"})), "right"),
        ("suspicious", "multi_run_file", Verdict(healthy=True, codes=frozenset({"several-runs"})), "right"),
        ("healthy", "healthy", Verdict((_named("missing-warmup", "note"),), healthy=True), "right"),
        ("healthy", "healthy", Verdict((_named("plateau", "warning", 0.3),)), "false warning"),
        ("unknown", "too_few_points", Verdict(healthy=None), "right"),
    ],
)
def test_classes(status: str, label: str, verdict: Verdict, expected: str) -> None:
    assert _class(status, label, verdict) == expected


def test_labels_speak_of_causes_that_exist() -> None:
    known = set(causes()) | _NOTE_CODES
    named = SYMPTOMS | {cause for label in LABELS.values() for cause in label.same | label.near}
    assert named - known == set()


def test_no_label_counts_a_cause_both_as_right_and_as_near() -> None:
    assert [name for name, label in LABELS.items() if label.same & label.near] == []


def test_the_targets_are_met_only_when_all_three_are() -> None:
    right = Outcome(Case("a", "a", "broken", "overfit"), Verdict((_named("overfitting"),)), "right", True)
    wrong = Outcome(Case("b", "b", "broken", "overfit"), Verdict((_named("lr-jump"),)), "CONFIDENTLY WRONG", False)
    alarm = Outcome(Case("c", "c", "healthy", "healthy"), Verdict((_named("lr-jump"),)), "false warning", False)
    assert totals([right])[1]
    assert not totals([right, right, right, wrong])[1]
    assert totals([right, alarm])[1]
    assert not totals([right, alarm, alarm])[1]


def test_a_folder_of_cases_is_judged(tmp_path: Path) -> None:
    rows = "".join(json.dumps({"step": step, "loss": 5.0 * 0.99**step + 1.0}) + "\n" for step in range(300))
    (tmp_path / "a.jsonl").write_text(rows)
    case = {"id": "a", "path": "a.jsonl", "status": "healthy", "cause": "healthy"}
    (tmp_path / "cases.jsonl").write_text(json.dumps(case) + "\n")
    (outcome,) = judge_all(tmp_path)
    assert outcome.result == "right"


def test_where_it_looked_is_said_when_there_are_no_cases(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "nowhere")]) == 2
    assert "nowhere" in capsys.readouterr().err
