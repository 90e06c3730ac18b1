"""Evidence on the page."""

from __future__ import annotations

from sismo.dashboard.evidence import evidence
from sismo.postmortem import EvidenceItem, Text
from sismo.report.language import language


def test_what_several_signals_miss_is_missed_once() -> None:
    items = [
        EvidenceItem(signal, Text("missing: {missing}", {"missing": "loss/val"}), "loss/val", None, None) for signal in ("one", "other")
    ]
    assert str(evidence(items, language("en"), "step")).count("<li>") == 1
