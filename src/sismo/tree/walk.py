"""The walk: from observations through the questions to causes, ranked with evidence for and against.

The walk follows yes, no and unknown edges; an unknown leaves every edge that it names open. A cause that the walk reaches is named
when what it needs is present and nothing that rules it out is.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping

from sismo.signals.types import Observation, State
from sismo.tree import catalogue
from sismo.tree.types import Answer, Cause, Diagnosis, Finding, Node, Severity, Visit

JUDGED = "loss-readable"
"""The signal that says whether there is enough of a loss to judge a run by."""

LOST = "loss-nonfinite"
"""The signal that says that a loss stopped being a number: such a run is never healthy."""

_CEILING = 0.95
"""A log alone never makes a cause certain."""

_FLOOR = 0.25
"""Under this a cause is a suspicion and is not named."""

_PROBABLE = 0.5
"""A cause explains a surer one away only when it is itself at least this probable."""

_TWIN_MARGIN = 0.15
"""Twins closer than this in confidence are named as a pair."""


def walk(observations: Mapping[str, Observation], without: Container[str] = ()) -> Diagnosis:
    """Walks both trees. Returns the path, the causes found, and whether the run could be judged.

    ``without`` holds ids of causes that are not considered: what is said of a failure that the catalogue does not know.
    """
    path, leaves = _visit(observations)
    findings = _rank([finding for cause in leaves if cause.id not in without and (finding := _judge(cause, observations))])
    judged = observations[JUDGED].state is State.PRESENT
    worst = max((finding.severity.rank for finding in findings), default=0)
    lost = observations[LOST].state is State.PRESENT  # and nothing says why: no verdict, and no clean bill
    healthy = False if worst >= Severity.WARNING.rank else (True if judged and not lost else None)
    return Diagnosis(tuple(findings), tuple(path), healthy, judged)


def answer(node: Node, observations: Mapping[str, Observation]) -> Answer:
    """Yes when any signal of the question is present, no when all are absent, unknown otherwise."""
    return _said(_looked_at(node, observations))


def _said(looked_at: Iterable[Observation]) -> Answer:
    states = [observation.state for observation in looked_at]
    if State.PRESENT in states:
        return Answer.YES
    return Answer.NO if all(state is State.ABSENT for state in states) else Answer.UNKNOWN


def _looked_at(node: Node, observations: Mapping[str, Observation]) -> tuple[Observation, ...]:
    """What answers a question: each signal, or what a probe proved of it."""
    proofs = dict(node.proofs)
    chosen = [
        _surer(observations[signal], observations[proofs[signal]], suspected=signal in node.suspicions)
        if signal in proofs
        else observations[signal]
        for signal in node.signals
    ]
    return tuple({observation.signal: observation for observation in chosen}.values())


def _surer(own: Observation, proof: Observation, *, suspected: bool) -> Observation:
    """The probe's answer where it has one that settles the question."""
    settled = proof.state is State.PRESENT or (own.state is State.UNKNOWN and proof.state is State.ABSENT)
    return proof if settled or (suspected and proof.denies) else own


def _visit(observations: Mapping[str, Observation]) -> tuple[list[Visit], list[Cause]]:
    """Depth first from every root. Each question is asked once, each cause reached once."""
    known, causes = catalogue.nodes(), catalogue.causes()
    path: dict[str, Visit] = {}
    leaves: dict[str, Cause] = {}
    pending = [root for tree in catalogue.trees().values() for root in tree.roots][::-1]
    while pending:
        name = pending.pop()
        if name in causes:
            leaves.setdefault(name, causes[name])
            continue
        if name in path:
            continue
        node = known[name]
        looked_at = _looked_at(node, observations)
        said = _said(looked_at)
        path[name] = Visit(node, said, looked_at)
        follow = {Answer.YES: node.yes, Answer.NO: node.no, Answer.UNKNOWN: node.unknown}[said]
        pending.extend(reversed(follow))
    # A section may be entered twice; the path is told in the order of the printed tree.
    return [path[name] for name in known if name in path], list(leaves.values())


def _judge(cause: Cause, observations: Mapping[str, Observation]) -> Finding | None:
    """The finding that a cause amounts to, or None when its evidence is not there."""

    def seen(signals: Iterable[str], state: State) -> tuple[Observation, ...]:
        return tuple(observations[signal] for signal in signals if observations[signal].state is state)

    proved = seen(cause.proofs, State.PRESENT)
    needed = seen(cause.needs, State.PRESENT)
    alternatives = seen(cause.needs_any, State.PRESENT)
    ruled_out = [veto for veto in seen(cause.vetoes, State.PRESENT) if not proved or veto.by_probe]
    if ruled_out or not (proved or (len(needed) == len(cause.needs) and (alternatives or not cause.needs_any))):
        return None
    helping = [weight for weight in cause.supports if observations[weight.signal].state is State.PRESENT]
    denied = [weight for weight in cause.denials if observations[weight.signal].denies]
    speaking = [weight for weight in cause.against if observations[weight.signal].state is State.PRESENT]
    hurting = [*denied, *(weight for weight in speaking if not proved or observations[weight.signal].by_probe)]
    # In the order in which the cause names them: what is seen first of it comes first, whether or not it proves it.
    apart = [one for one in proved if one.signal not in (*cause.needs, *cause.needs_any)]
    core = [*apart, *needed, *alternatives]
    # What is needed is as clear as its dimmest part; one more way to see it makes nothing less sure.
    either = max((observation.strength for observation in (*proved, *alternatives)), default=1.0)
    clarity = min(either, *(observation.strength for observation in needed if not proved), 1.0)
    gained = sum(weight.weight * observations[weight.signal].strength for weight in helping)
    lost = sum(weight.weight for weight in hurting)
    confidence = min(_CEILING, max(0.05, cause.base * clarity + gained - lost))
    if confidence < _FLOOR:
        return None
    severity = cause.severity
    for signal, level in cause.raised_by:
        if observations[signal].state is State.PRESENT and level.rank > severity.rank:
            severity = level
    evidence = [*core, *(observations[weight.signal] for weight in sorted(helping, key=lambda weight: -weight.weight))]
    raising = [observations[signal] for signal, _ in cause.raised_by if observations[signal].state is State.PRESENT]
    counter = [*(weight.signal for weight in cause.against), *cause.vetoes]
    return Finding(
        cause=cause,
        severity=severity,
        step=next((observation.start for observation in core if observation.start is not None), None),
        confidence=round(confidence, 2),
        evidence=tuple({observation.signal: observation for observation in [*evidence, *raising]}.values()),
        against=tuple(observations[weight.signal] for weight in hurting),
        looked_for=seen(counter, State.ABSENT),
        open=seen([*(weight.signal for weight in cause.supports), *counter], State.UNKNOWN),
    )


def _rank(findings: list[Finding]) -> list[Finding]:
    """Worst first, then surest, then earliest; a consequence stands after everything that is none."""
    linked = [_with_origin(finding, findings) for finding in findings]
    linked = [_with_twins(finding, linked) for finding in linked]

    def order(finding: Finding) -> tuple[bool, int, float, float]:
        step = float("inf") if finding.step is None else finding.step
        return (bool(finding.consequence_of), -finding.severity.rank, -finding.confidence, step)

    return sorted(linked, key=order)


def _with_origin(finding: Finding, findings: list[Finding]) -> Finding:
    for other in findings:
        if finding.cause.id in other.cause.explains and finding.cause.id != other.cause.id:
            before = other.step is None or finding.step is None or other.step <= finding.step
            mutual = other.cause.id in finding.cause.explains
            surer = other.confidence >= min(_PROBABLE, finding.confidence) and not (mutual and finding.confidence >= other.confidence)
            if before and surer and other.severity.rank >= finding.severity.rank:
                return finding._replace(consequence_of=other.cause.id)
    return finding


def _with_twins(finding: Finding, findings: list[Finding]) -> Finding:
    if finding.consequence_of:
        return finding
    close = tuple(
        other.cause.id
        for other in findings
        if other.cause.id in finding.cause.twins
        and not other.consequence_of
        and other.severity is finding.severity
        and round(abs(other.confidence - finding.confidence), 2) <= _TWIN_MARGIN
    )
    return finding._replace(twins=close)
