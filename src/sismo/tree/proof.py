"""What an experiment that was run changes about a finding: what it proved is not to be looked at once more."""

from __future__ import annotations

from sismo.tree.catalogue import remedies
from sismo.tree.remedy import Kind
from sismo.tree.types import Finding


def proved_by(finding: Finding) -> str:
    """The kind of the probe that settles the cause, where its result is among the evidence; empty for one of an open pair."""
    if finding.twins:
        return ""
    probe = remedies()[finding.cause.id].probe
    return probe if probe and any(observation.numbers.get("probe") == probe for observation in finding.evidence) else ""


def first_action(finding: Finding) -> str:
    """What to do first: the check that the cause asks for, or the cure once that check was made."""
    cause = finding.cause
    checked = proved_by(finding) and remedies()[cause.id].kind is Kind.PROBE
    return (*cause.fixes, cause.first_action)[0] if checked else cause.first_action
