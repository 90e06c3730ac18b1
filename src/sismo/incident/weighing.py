"""Parts 2 and 3: the explanations that were weighed, and the observations that tell them apart."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from sismo.incident.types import Bearing, Gap, Hypothesis
from sismo.postmortem import Text, lacking
from sismo.records.types import Run
from sismo.signals.types import Detector, Observation, State
from sismo.tree.catalogue import causes
from sismo.tree.proof import decider, proved_by
from sismo.tree.types import Cause, Diagnosis, Finding
from sismo.tree.walk import LOST

PanelOf = Callable[[str], Text | None]
"""The panel that draws a channel, as a sentence; None where none does."""

_RIVALS = 5
"""Explanations that are shown with what ruled them out. More would bury the ones that stand."""
_BEARINGS = 8
_GAPS = 4
_NO_HYPOTHESIS = "log"
"""Family of causes that say something of the log, and nothing of the run."""
_LOST_LOSS = "non-finite"
"""Family of causes of a loss that stops being a number: nobody takes them for what broke a run whose loss never did."""


class Bench:
    """Everything that was observed, with the words for it."""

    def __init__(self, run: Run, seen: Mapping[str, Observation], detectors: Mapping[str, Detector], panel_of: PanelOf) -> None:
        self.seen, self._run, self._detectors, self._panel_of = seen, run, detectors, panel_of

    def says(self, signal: str) -> Text:
        """What one detector says, whatever its answer."""
        observation, detector = self.seen[signal], self._detectors[signal]
        if observation.state is State.UNKNOWN:
            return Text("missing: {missing}", {"missing": Text(observation.missing, observation.numbers)})
        template = detector.present if observation.state is State.PRESENT else detector.absent
        return Text(template, {**observation.numbers, "start": observation.start, "end": observation.end, "channel": observation.channel})

    def probe(self, signal: str) -> str:
        """The kind of the probe that came to a result, empty for what was seen in the run itself."""
        return str(self.seen[signal].numbers.get("probe", ""))

    def lacks(self, signal: str) -> tuple[Text, Text]:
        """What one detector lacked, and how to get it."""
        return lacking(self.seen[signal], self._detectors, self._run)

    def panels(self, signals: Iterable[str]) -> list[Text]:
        """The panels that some signals are seen in, each once."""
        found: dict[str, Text] = {}
        for signal in signals:
            for channel in (self.seen[signal].channel, *self._detectors[signal].reads):
                panel = self._panel_of(channel) if channel else None
                if panel is not None:
                    found.setdefault(str(panel), panel)
                    break
        return list(found.values())

    def are(self, signals: Iterable[str], state: State) -> list[str]:
        """Those of some signals that are in a state."""
        return [signal for signal in signals if self.seen[signal].state is state]


def hypotheses(diagnosis: Diagnosis, subject: Finding | None, bench: Bench) -> list[Hypothesis]:
    """Every cause that is named, in its rank; then those that were considered beside the subject and fell.

    A note explains no failure, unless it follows from what does.
    """
    named = [_named(finding, bench) for finding in diagnosis.findings if _explains(finding, subject)]
    known = {finding.cause.id for finding in diagnosis.findings}
    return [*named, *(_fallen(cause, bench) for cause in (_rivals(subject, known, bench) if subject else ()))]


def bearings(first: Finding | None, weighed: Sequence[Hypothesis], bench: Bench) -> list[Bearing]:
    """The observations that do not treat all hypotheses alike, those that rule one out first."""
    if first is None:
        return []
    rivals = [causes()[one.id] for one in weighed]
    ours = [observation.signal for observation in (*first.evidence, *first.against)]
    signals = dict.fromkeys([*ours, *(signal for cause in rivals for signal in cause.signals)])
    found = [(signal, bearing) for signal in signals if (bearing := _bearing(signal, first.cause, rivals, bench)) is not None]
    ranked = sorted(found, key=lambda pair: (pair[0] not in ours, first.cause.id not in pair[1].favours, -len(pair[1].rules_out)))
    return list({str(bearing.said): bearing for _, bearing in ranked}.values())[:_BEARINGS]


def undecided(first: Finding | None, bench: Bench) -> list[Gap]:
    """What would have counted for or against the first cause and could not be looked for; each way to get it once.

    Nothing once an experiment has settled it.
    """
    if first is None or proved_by(first):
        return []
    found: dict[str, Gap] = {}
    proved = any(bench.probe(observation.signal) for observation in first.evidence)
    twins = [] if proved else [name for name in first.cause.twins if not _ruled_out(causes()[name], bench)]
    if twins:
        pair = " / ".join([first.cause.id, *twins])
        found[""] = Gap(Text("what decides between {pair}", {"pair": pair}), Text(decider(first)))
    for observation in first.open:
        what, how = bench.lacks(observation.signal)
        found.setdefault(str(how), Gap(what, how))
    return list(found.values())[:_GAPS]


def _explains(finding: Finding, subject: Finding | None) -> bool:
    of_the_run = finding.cause.family != _NO_HYPOTHESIS
    return of_the_run and (subject is None or finding.severity.rank >= min(subject.severity.rank, 1) or bool(finding.consequence_of))


def _ruled_out(cause: Cause, bench: Bench) -> bool:
    """Whether something speaks against it outright, or all of its signs were looked for and none is there."""
    signs = cause.needs_any
    none = bool(signs) and len(bench.are(signs, State.ABSENT)) == len(signs)
    return none or bool(bench.are(cause.vetoes, State.PRESENT) or bench.are(cause.needs, State.ABSENT) or _denied(cause, bench))


def _denied(cause: Cause, bench: Bench) -> list[str]:
    """The signals of probes that have looked for a cause and found none of it."""
    return [weight.signal for weight in cause.denials if bench.seen[weight.signal].denies]


def _bearing(signal: str, first: Cause, rivals: Sequence[Cause], bench: Bench) -> Bearing | None:
    state = bench.seen[signal].state
    if state is State.UNKNOWN:
        return None
    if state is State.PRESENT:
        favours = [cause.id for cause in rivals if signal in (*cause.needs, *cause.needs_any, *(w.signal for w in cause.supports))]
        weakens = [cause.id for cause in rivals if signal in (w.signal for w in cause.against)]
        rules_out = [cause.id for cause in rivals if signal in cause.vetoes]
    else:
        # What would have spoken against the first cause was looked for: that it is not there counts.
        counter = signal in (*first.vetoes, *(weight.signal for weight in first.against))
        signs = [cause for cause in rivals if counter and signal in (*cause.needs_any, *(weight.signal for weight in cause.supports))]
        favours = [first.id] if counter else []
        rules_out = [cause.id for cause in rivals if signal in cause.needs]
        denied = [cause for cause in rivals if signal in _denied(cause, bench)]
        weakens = [cause.id for cause in rivals if cause in signs or cause in denied or signal == _first_of_none(cause, bench)]
        if not (weakens or rules_out):
            return None
    touched = {*favours, *weakens, *rules_out}
    alike = len(rivals) > 1 and len(favours) == len(rivals)
    return Bearing(bench.says(signal), favours, weakens, rules_out) if touched and not alike else None


def _first_of_none(cause: Cause, bench: Bench) -> str:
    """The first of several signs, any of which would do, where none of them is there; empty otherwise."""
    return cause.needs_any[0] if cause.needs_any and not bench.are(cause.needs_any, State.PRESENT) else ""


def _named(finding: Finding, bench: Bench) -> Hypothesis:
    signals = [observation.signal for observation in finding.evidence]
    strongest = next((signal for signal in signals if bench.probe(signal)), signals[0])
    return Hypothesis(
        id=finding.cause.id,
        title=Text(finding.cause.title),
        confidence=finding.confidence,
        step=finding.step,
        origin=finding.consequence_of,
        panels=bench.panels(signals),
        reason=bench.says(strongest),
    )


def _fallen(cause: Cause, bench: Bench) -> Hypothesis:
    against = _why_not(cause, bench)
    reason = bench.says(against) if against else Text("no sign of it is strong enough to name it")
    return Hypothesis(cause.id, Text(cause.title), None, None, "", bench.panels([against] if against else []), reason)


def _why_not(cause: Cause, bench: Bench) -> str:
    """The signal that keeps a cause from being named: one that rules it out, else a sign that is missing."""
    if denied := _denied(cause, bench):
        return denied[0]
    needed = [*cause.needs, *(cause.needs_any if not bench.are(cause.needs_any, State.PRESENT) else ())]
    for signals, state in ((cause.vetoes, State.PRESENT), (needed, State.ABSENT), (needed, State.UNKNOWN)):
        found = bench.are(signals, state)
        if found:
            return found[0]
    return ""


def _rivals(first: Finding, known: set[str], bench: Bench) -> list[Cause]:
    """Causes that could be taken for the first one and are not named: the nearest, of those its kin, of those the ones ruled out, first."""
    left_out = {_NO_HYPOTHESIS}
    if bench.are([LOST], State.ABSENT) and first.cause.family != _LOST_LOSS:
        left_out.add(_LOST_LOSS)
    others = [cause for cause in causes().values() if cause.id not in known and cause.family not in left_out]
    near = [(distance, cause) for cause in others if (distance := _distance(first, cause)) is not None]

    def order(pair: tuple[int, Cause]) -> tuple[int, bool, bool]:
        distance, cause = pair
        return (distance, cause.family != first.cause.family, not _ruled_out(cause, bench))

    return [cause for _, cause in sorted(near, key=order)][:_RIVALS]


def _distance(first: Finding, other: Cause) -> int | None:
    """How near another cause is, 0 for the look-alikes; None where nothing links the two."""
    evidence = {observation.signal for observation in first.evidence}
    against = {*first.cause.vetoes, *(weight.signal for weight in first.cause.against)}
    signs = {*other.needs, *other.needs_any, *(weight.signal for weight in other.supports)}
    shared, excluded = evidence & signs, evidence & set(other.vetoes)
    related = (
        other.id in first.cause.twins,
        bool(shared and excluded),
        bool(signs & against),
        bool(shared),
        first.cause.id in other.explains,
        bool(excluded),
        other.id in first.cause.explains,
    )
    return related.index(True) if True in related else None
