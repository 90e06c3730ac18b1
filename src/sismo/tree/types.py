"""Questions, causes and what a walk returns. Data only: no function and no threshold lives in a node or a cause."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from sismo.signals.types import Observation


class Severity(StrEnum):
    """How much a cause matters: act, look, know."""

    BROKEN = "broken"
    WARNING = "warning"
    NOTE = "note"

    @property
    def rank(self) -> int:
        """2 for broken, 1 for warning, 0 for note."""
        return {"broken": 2, "warning": 1, "note": 0}[self.value]


class Answer(StrEnum):
    """What a question came to. Unknown is never read as no."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


class Node(NamedTuple):
    """One question of a tree.

    It is answered by signals: *yes* when any of them is present, *no* when all of them are absent, *unknown* otherwise. A probe that was
    run stands in for the signal that it proves, where that was not seen or could not be looked for.

    Attributes:
        id: ``S2.Q1``; never dies, never changes meaning.
        section: heading that it stands under.
        asks: the question, answerable with yes or no.
        why: why it matters. confused_with: what it is often taken for. try_next: what to try when the answer is yes.
        references: where it comes from.
        signals: ids of the signals that answer it. proofs: a signal of these, and the one by which a probe proves it.
        suspicions: signals of these that only suggest a yes: what the probe says stands in for them also where it says no.
        yes, no, unknown: ids of the nodes and causes that follow each answer.
    """

    id: str
    section: str
    asks: str
    why: str
    signals: tuple[str, ...]
    proofs: tuple[tuple[str, str], ...] = ()
    suspicions: tuple[str, ...] = ()
    yes: tuple[str, ...] = ()
    no: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    confused_with: str = ""
    try_next: str = ""
    references: str = ""


class Tree(NamedTuple):
    """A tree as it is printed: a name, a title and its nodes in order; the first of each root is where a walk starts."""

    name: str
    title: str
    roots: tuple[str, ...]
    nodes: tuple[Node, ...]


class Weight(NamedTuple):
    """How much one signal moves the confidence in a cause when it is present."""

    signal: str
    weight: float


class Cause(NamedTuple):
    """One thing that can be wrong with a run.

    Attributes:
        id: kebab-case, names the failure; never dies. family: heading in the catalogue. severity: without anything that raises it.
        title: the failure in a few words. statement: what happened, one sentence.
        first_action: what to do first. fixes: what else helps. confirm: how to make sure. counter: what would have spoken against it.
        source: where the rule comes from.
        needs: signals that must all be present. needs_any: of these at least one must be.
        proofs: of the signals that count for it, those of probes that name it by themselves: needs, and what was logged against it, do not
            count then.
        base: confidence with just that. supports, against: what moves it when present. vetoes: signals that rule it out when present.
        denials: signals of probes, and how much it counts against it that the probe has looked and found none of it.
        otherwise: what to do first once its probe has denied it and other evidence still names it; empty where that stays the same.
        raised_by: signals that lift the severity when present.
        explains: causes that are its consequences when they come at the same step or later.
        twins: causes that the same log cannot tell from it. decider: the probe or the line to log that tells them apart.
    """

    id: str
    family: str
    severity: Severity
    title: str
    statement: str
    first_action: str
    confirm: str
    counter: str
    source: str
    fixes: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    needs_any: tuple[str, ...] = ()
    proofs: tuple[str, ...] = ()
    base: float = 0.5
    supports: tuple[Weight, ...] = ()
    against: tuple[Weight, ...] = ()
    vetoes: tuple[str, ...] = ()
    denials: tuple[Weight, ...] = ()
    otherwise: str = ""
    raised_by: tuple[tuple[str, Severity], ...] = ()
    explains: tuple[str, ...] = ()
    twins: tuple[str, ...] = ()
    decider: str = ""

    @property
    def signals(self) -> tuple[str, ...]:
        """Every signal that it refers to, each once, needs first."""
        named = [*self.needs, *self.needs_any, *(w.signal for w in self.supports), *(w.signal for w in self.against), *self.vetoes]
        denied = [weight.signal for weight in self.denials]
        return tuple(dict.fromkeys([*named, *denied, *(signal for signal, _ in self.raised_by)]))


class Visit(NamedTuple):
    """A question on the walked path: its answer and what that rests on."""

    node: Node
    answer: Answer
    observations: tuple[Observation, ...]


class Finding(NamedTuple):
    """A cause that its evidence names.

    Attributes:
        severity: after what raised it. step: where it starts, None where it has no place in time. confidence: 0 to 1.
        evidence: present signals for it, strongest first.
        against: present signals that speak against it, and signals of probes that have looked and found none of it.
        looked_for: counter-evidence that was looked for and is absent. open: signals that would count and are unknown.
        consequence_of: id of the finding that explains it, empty otherwise. twins: ids that the log cannot tell from it.
    """

    cause: Cause
    severity: Severity
    step: int | None
    confidence: float
    evidence: tuple[Observation, ...]
    against: tuple[Observation, ...]
    looked_for: tuple[Observation, ...]
    open: tuple[Observation, ...]
    consequence_of: str = ""
    twins: tuple[str, ...] = ()


class Diagnosis(NamedTuple):
    """What a walk came to.

    Attributes:
        findings: ranked, consequences after what they follow from.
        path: the questions that were asked, in the order of the printed trees.
        healthy: True when the loss was looked at and nothing at warning or worse was found; False when something was; None when it
            could not be judged.
        judged: whether there was enough of a loss to judge at all.
    """

    findings: tuple[Finding, ...]
    path: tuple[Visit, ...]
    healthy: bool | None
    judged: bool

    @property
    def first(self) -> Finding | None:
        """The finding at the top, or None."""
        return self.findings[0] if self.findings else None

    @property
    def open_questions(self) -> tuple[Visit, ...]:
        """The questions that stayed unknown."""
        return tuple(visit for visit in self.path if visit.answer is Answer.UNKNOWN)
