"""What an experiment that was run changes about a finding: what it proved is not to be looked at once more."""

from __future__ import annotations

from sismo.tree.catalogue import remedies
from sismo.tree.remedy import Kind, Remedy
from sismo.tree.types import Finding

OF_A_STEP = ("nan", "replay", "batch")
"""Probes of one step and its batch; the others look at the model, the loop or the data."""


def proved_by(finding: Finding) -> str:
    """The kind of the probe that settles the cause, where its result is among the evidence; empty for one of an open pair."""
    if finding.twins:
        return ""
    probe = remedies()[finding.cause.id].probe
    return probe if probe and any(observation.numbers.get("probe") == probe for observation in finding.evidence) else ""


def denied_by(finding: Finding) -> str:
    """The kind of the probe that settles the cause, where it has looked and found none of it; empty where other evidence proves it."""
    probe = remedies()[finding.cause.id].probe
    denied = any(observation.denies and observation.numbers.get("probe") == probe for observation in finding.against)
    return probe if denied and not proved_by(finding) else ""


def decider(finding: Finding) -> str:
    """What would make the cause sure: not the probe that has denied it."""
    return finding.cause.confirm if denied_by(finding) or not finding.cause.decider else finding.cause.decider


def first_action(finding: Finding) -> str:
    """What to do first: the check that the cause asks for, the cure once that check was made, or the next thing once it found nothing."""
    cause = finding.cause
    if cause.otherwise and denied_by(finding):
        return cause.otherwise
    checked = proved_by(finding) and remedies()[cause.id].kind is Kind.PROBE
    return (*cause.fixes, cause.first_action)[0] if checked else cause.first_action


def sees_the_change(remedy: Remedy) -> bool:
    """Whether a remedy's probe looks at what it changes: a batch that was kept shows neither other data nor another dtype."""
    kept = remedy.probe == "batch" or (remedy.skip and remedy.probe in OF_A_STEP)
    return bool(remedy.probe) and remedy.kind is not Kind.RECIPE and not kept
