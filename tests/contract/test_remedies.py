"""Every cause has a remedy that says what to do, how one sees that it worked, and what to learn; and a post-mortem of seven parts."""

from __future__ import annotations

import re

import pytest
from support.runs import cosine, falling, run

from sismo.dashboard.registry import panel_of
from sismo.incident import investigate as investigation
from sismo.incident.settings import follows
from sismo.report.incident.sections import Code, sections
from sismo.report.language import language
from sismo.signals.presets import preset
from sismo.signals.types import present
from sismo.tree.catalogue import causes, remedies
from sismo.tree.remedy import SETTINGS, Kind, Remedy, Restart, Rule
from sismo.tree.types import Diagnosis, Finding, Severity

CAUSES, REMEDIES = causes(), remedies()

PARTS = ("symptoms", "hypotheses", "evidence", "cause", "change", "verification", "lesson")
PROBES = ("nan", "replay", "causal", "leakage", "init", "flow", "batch")
"""What ``sismo probe`` offers."""


def each() -> pytest.MarkDecorator:
    return pytest.mark.parametrize("remedy", REMEDIES.values(), ids=list(REMEDIES))


def acts(name: str) -> bool:
    """Whether a cause is ever more than a note."""
    cause = CAUSES[name]
    return max(severity.rank for severity in (cause.severity, *(level for _, level in cause.raised_by))) > Severity.NOTE.rank


def test_there_is_one_for_each_cause_and_for_nothing_else() -> None:
    assert set(REMEDIES) == set(CAUSES)


@each()
def test_it_says_what_to_expect_and_what_to_learn(remedy: Remedy) -> None:
    for text in (remedy.expect, remedy.lesson, *(change.why for change in remedy.changes)):
        assert text.endswith("."), text
        assert not re.search(r"\{\w*\}", text), "there is nothing that would fill it"


@each()
def test_it_asks_for_something_that_it_holds(remedy: Remedy) -> None:
    asked = {
        Kind.RECIPE: bool(remedy.changes) or remedy.restart in (Restart.BEFORE, Restart.TAKE),
        Kind.CODE: bool(remedy.code),
        Kind.PROBE: bool(remedy.probe or remedy.code),
        Kind.NOTHING: not (remedy.changes or remedy.code or remedy.probe),
    }
    assert asked[remedy.kind]


@each()
def test_what_breaks_a_run_is_not_left_alone(remedy: Remedy) -> None:
    assert not acts(remedy.cause) or remedy.kind is not Kind.NOTHING


@each()
def test_it_changes_known_settings_by_known_rules(remedy: Remedy) -> None:
    for change in remedy.changes:
        assert change.setting in SETTINGS
        operands = {Rule.TIMES: 1, Rule.SET: 1, Rule.RAISE: 1, Rule.SHARE: 2, Rule.LOWER: 2}[change.rule]
        assert len(change.values) == operands
        assert follows(change.rule, change.values, 1e-9 if change.rule is Rule.RAISE else 1e9, 100_000) is not None


@each()
def test_its_probe_is_one_and_its_code_is_code(remedy: Remedy) -> None:
    assert remedy.probe in ("", *PROBES)
    if remedy.code:
        compile(remedy.code.replace("DataLoader(...", "DataLoader(data"), remedy.cause, "exec")


@each()
def test_where_nothing_is_trained_it_is_seen_at_once(remedy: Remedy) -> None:
    if remedy.restart in (Restart.NOT, Restart.TAKE) and remedy.kind is not Kind.NOTHING:
        assert remedy.within == 0


def test_no_key_is_claimed_by_two_settings() -> None:
    keys = [key for setting in SETTINGS.values() for key in setting.keys]
    assert len(keys) == len(set(keys))


@pytest.mark.parametrize("confidence", [0.9, 0.4])
@pytest.mark.parametrize("name", [name for name in CAUSES if acts(name)])
def test_a_post_mortem_of_it_has_all_seven_parts(name: str, confidence: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever breaks a run, each part is filled or says what it lacks and how to get it."""
    cause = CAUSES[name]
    seen = tuple(present(200, signal=signal)._replace(signal=signal) for signal in (*cause.needs, *cause.needs_any))
    finding = Finding(cause, Severity.BROKEN, 200, confidence, seen, (), (), ())
    monkeypatch.setattr(investigation, "walk", lambda observations: Diagnosis((finding,), (), False, True))
    incident = investigation.investigate(run(loss=falling(), lr=cosine()), preset("robust"), panel_of)
    assert (incident.prescription.refused is None) == (confidence > 0.5)
    for code in ("en", "es"):
        parts = sections(incident, language(code))
        assert [part.id for part in parts] == ["verdict", *PARTS]
        for part in parts:
            assert part.blocks, part.id
            assert "{" not in str([block for block in part.blocks if not isinstance(block, Code)]), part.id
    assert all(str(text) for text in (incident.root.said, *incident.verification, incident.lesson))
