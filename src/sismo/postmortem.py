"""The one document that sismo writes about a run: plain data, which every renderer prints and none computes.

Sentences are templates with the numbers beside them, so that a renderer can translate the template and fill it afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sismo.records.channels import FAMILIES, PANELS, panel_of
from sismo.records.clipping import clip_of
from sismo.records.sentence import fill
from sismo.records.types import NOTHING, RECORDED, Run
from sismo.signals.types import Detector, Observation, State
from sismo.tree.catalogue import remedies
from sismo.tree.proof import decider, first_action, proved_by, sees_the_change
from sismo.tree.remedy import Rule
from sismo.tree.types import Answer, Diagnosis, Finding, Visit

SCHEMA = "sismo.postmortem/1"

SURE = 0.75
LIKELY = 0.5
"""Confidence from which a verdict says 'is' instead of 'probably', and 'probably' instead of 'possibly'."""


_RECORDING = ("record the run with sismo.Recorder", "record with sismo.Recorder")
"""How most of what a log lacks is had: no advice for a run that is recorded already."""
_OF_WEIGHTS = ("gradients", "weights", "spectral")
"""Panels of the recorder that are off where the weights lie in pieces that do not say so."""


class Text(NamedTuple):
    """A sentence: an English template, and what fills it. ``str()`` gives the English sentence."""

    template: str
    numbers: Mapping[str, object] = NOTHING

    def __str__(self) -> str:
        return fill(self.template, self.numbers)


NOT_HERE = Text("nothing to turn on: the recorder found none of it in this model and its batches")
"""What cannot be had of a run, however it is recorded."""


class EvidenceItem(NamedTuple):
    """One piece of evidence: the sentence, the signal and channel behind it, and the steps that it spans."""

    signal: str
    text: Text
    channel: str = ""
    start: int | None = None
    end: int | None = None


class CauseItem(NamedTuple):
    """One cause as it is printed. ``consequence_of`` and ``twins`` hold ids of other causes."""

    id: str
    title: Text
    statement: Text
    severity: str
    step: int | None
    confidence: float
    evidence: Sequence[EvidenceItem]
    against: Sequence[EvidenceItem]
    looked_for: Sequence[EvidenceItem]
    open: Sequence[EvidenceItem]
    first_action: Text
    fixes: Sequence[Text]
    confirm: Text
    counter: Text
    decider: Text | None
    consequence_of: str = ""
    twins: Sequence[str] = ()


class WalkItem(NamedTuple):
    """One question on the walked path, with its answer and what that rests on."""

    id: str
    section: Text
    asks: Text
    answer: str
    evidence: Sequence[EvidenceItem]


class UnknownItem(NamedTuple):
    """One question that stayed open: what is missing, and the one thing to do to get it."""

    id: str
    asks: Text
    missing: Text
    how: Text


class PostMortem(NamedTuple):
    """Everything that is said about one run.

    ``step_unit`` is what steps are counted in (``step`` or ``epoch``); ``healthy`` is True, False or None (could not be judged);
    ``severity`` is that of the worst finding or ``none``;
    ``verdict`` is one sentence; ``facts`` are what was read (rows, steps, loss from and to).
    """

    path: str
    name: str
    source: str
    preset: str
    step_unit: str
    healthy: bool | None
    severity: str
    step: int | None
    verdict: Text
    facts: Sequence[Text]
    causes: Sequence[CauseItem]
    walk: Sequence[WalkItem]
    unknown: Sequence[UnknownItem]
    notes: Sequence[Text]
    note_codes: Sequence[str] = ()
    schema: str = SCHEMA


_CRASH = "log-ends-in-a-crash"
"""What ended a run may be memory or a machine: no instability, and not to be passed over as health either."""


def write(run: Run, diagnosis: Diagnosis, detectors: Mapping[str, Detector], preset: str) -> PostMortem:
    """Turns a diagnosis into the document. ``detectors`` gives the sentences of the signals."""
    first = diagnosis.first
    recorded = run.header.source == RECORDED
    return PostMortem(
        path=run.path,
        name=run.header.name,
        source=run.header.source,
        preset=preset,
        step_unit=run.header.step_unit,
        healthy=diagnosis.healthy,
        severity=max((f.severity for f in diagnosis.findings), key=lambda s: s.rank).value if first else "none",
        step=first.step if first else None,
        verdict=_verdict(run, diagnosis),
        facts=_facts(run),
        causes=[_cause(finding, detectors, run) for finding in diagnosis.findings],
        walk=[_visit(visit, detectors, recorded) for visit in diagnosis.path],
        unknown=[item for visit in diagnosis.open_questions for item in [_open(visit, detectors, run)]],
        notes=[Text(note.text, note.numbers) for note in run.notes],
        note_codes=[note.code for note in run.notes],
    )


def _verdict(run: Run, diagnosis: Diagnosis) -> Text:
    loss = run.get("loss/train")
    first = diagnosis.first
    if first is not None and diagnosis.healthy is False:
        numbers: dict[str, object] = {"title": first.cause.title, "id": first.cause.id, "step": first.step, "unit": run.header.step_unit}
        if first.twins:
            pair = " / ".join([first.cause.id, *first.twins])
            return Text(
                "Unknown between {pair}, from {unit} {step}: {title}, or its look-alike; one check decides."
                if first.step is not None
                else "Unknown between {pair}: {title}, or its look-alike; one check decides.",
                {**numbers, "pair": pair},
            )
        if first.confidence >= SURE:
            template = "{title} ({id})"
        else:
            template = "Probably: {title} ({id})" if first.confidence >= LIKELY else "Possibly: {title} ({id})"
        return Text(template + (", from {unit} {step}." if first.step is not None else "."), numbers)
    lost = diagnosis.judged and diagnosis.healthy is None
    if lost:
        return Text("The loss is lost, and this log does not say why.")
    if diagnosis.healthy is None or loss is None:
        rows = 0 if loss is None else len(loss)
        return Text("No verdict: there is not enough to judge by ({rows} {rows:row|rows} of training loss).", {"rows": rows})
    crash = next((seen for finding in diagnosis.findings for seen in finding.evidence if seen.signal == _CRASH), None)
    if crash is not None:
        numbers = {"rows": len(loss), **crash.numbers}
        return Text("Nothing at warning or worse over {rows} rows, but the run did not end by itself: “{line}”.", numbers)
    return Text("Healthy as far as this log shows: nothing at warning or worse over {rows} rows.", {"rows": len(loss)})


def _facts(run: Run) -> list[Text]:
    facts: list[Text] = []
    for channel, label in (("loss/train", "training loss"), ("loss/val", "validation loss")):
        series = run.get(channel)
        if series is not None and len(series):
            numbers = {"label": label, "first": float(series.values[0]), "last": float(series.values[-1]), "rows": len(series),
                       "start": int(series.steps[0]), "end": int(series.steps[-1]), "unit": run.header.step_unit}  # fmt: skip
            facts.append(Text("{label}: {first:.4g} to {last:.4g}, {rows} {rows:row|rows}, {unit} {start} to {end}", numbers))
    return facts


def action_of(finding: Finding, run: Run) -> Text:
    """What to do first. Where that is to clip and gradients are clipped already, it says at what, and what is left to do."""
    action = Text(first_action(finding))
    bounds = [change.values for change in remedies()[finding.cause.id].changes if (change.setting, change.rule) == ("clip", Rule.LOWER)]
    clip = clip_of(run)
    if not bounds or not clip:
        return action
    tighter = next((value for value in bounds[0] if float(value) < clip), None)
    numbers = {"action": action, "clip": clip, "tighter": tighter}
    if tighter is None:
        return Text("{action} Gradients are clipped at {clip:.3g} already: it is not a clip that is missing.", numbers)
    return Text("{action} Gradients are clipped at {clip:.3g} already: tighten that to {tighter:.3g}.", numbers)


def _cause(finding: Finding, detectors: Mapping[str, Detector], run: Run) -> CauseItem:
    cause, action, recorded = finding.cause, first_action(finding), run.header.source == RECORDED
    evidence, looked_for = ([_evidence(one, detectors, recorded) for one in seen] for seen in (finding.evidence, finding.looked_for))
    return CauseItem(
        id=cause.id,
        title=Text(cause.title),
        statement=Text(cause.statement),
        severity=finding.severity.value,
        step=finding.step,
        confidence=finding.confidence,
        evidence=evidence,
        against=[_evidence(observation, detectors, recorded) for observation in finding.against],
        looked_for=[item for item in looked_for if str(item.text) not in {str(one.text) for one in evidence}],
        open=[_evidence(observation, detectors, recorded) for observation in finding.open],
        first_action=action_of(finding, run),
        fixes=[Text(fix) for fix in cause.fixes if fix != action],
        confirm=_confirm(finding),
        counter=Text(cause.counter),
        decider=Text(decider(finding)) if cause.decider else None,
        consequence_of=finding.consequence_of,
        twins=finding.twins,
    )


def _confirm(finding: Finding) -> Text:
    """How to make sure, or that it is sure."""
    probe = proved_by(finding)
    if not probe:
        return Text(finding.cause.confirm)
    # The command as a whole: a word of it would be translated.
    numbers = {"command": f"sismo probe {probe}"}
    if sees_the_change(remedies()[finding.cause.id]):
        return Text("It is proved: {command} has shown it. Run it once more after the change: then it finds nothing.", numbers)
    return Text("It is proved: {command} has shown it.", numbers)


def _evidence(observation: Observation, detectors: Mapping[str, Detector], recorded: bool) -> EvidenceItem:
    detector = detectors[observation.signal]
    numbers = {**observation.numbers, "start": observation.start, "end": observation.end, "channel": observation.channel}
    if observation.state is State.UNKNOWN:
        text = Text("missing: {missing}", {"missing": Text(observation.missing, observation.numbers)})
    else:
        text = Text(detector.present if observation.state is State.PRESENT else detector.absent, numbers)
    panel = panel_of(observation.channel) if recorded else ""
    if panel and observation.state is not State.UNKNOWN:
        # A recorded run says which panel it was seen on: as the recorder's guide numbers them.
        text = Text("{said} [{panel}]", {"said": text, "panel": panel})
    return EvidenceItem(observation.signal, text, observation.channel, observation.start, observation.end)


def _visit(visit: Visit, detectors: Mapping[str, Detector], recorded: bool) -> WalkItem:
    deciding = [o for o in visit.observations if visit.answer is not Answer.YES or o.state is State.PRESENT]
    return WalkItem(
        id=visit.node.id,
        section=Text(visit.node.section),
        asks=Text(visit.node.asks),
        answer=visit.answer.value,
        evidence=[_evidence(observation, detectors, recorded) for observation in deciding],
    )


def _open(visit: Visit, detectors: Mapping[str, Detector], run: Run) -> UnknownItem:
    blocking = next(o for o in visit.observations if o.state is State.UNKNOWN)
    missing, how = lacking(blocking, detectors, run)
    return UnknownItem(visit.node.id, Text(visit.node.asks), missing, how)


def lacking(observation: Observation, detectors: Mapping[str, Detector], run: Run) -> tuple[Text, Text]:
    """What was missing where something could not be looked for, and how to get it."""
    missing = Text(observation.missing, observation.numbers)
    how = detectors[observation.signal].how
    known = how and not (how in _RECORDING and run.header.source == RECORDED)
    return missing, Text(how) if known else to_record(observation.missing, run)


def to_record(channel: str, run: Run) -> Text:
    """How to come by a channel that a run does not have: by a line in the loop, or by what the recorder would have to be told."""
    family = FAMILIES.get(channel.partition("/")[0])
    how = (family.record if family else "") or _RECORDING[0]
    told = family is not None and family.name in PANELS["loss"][1]
    if run.header.source == RECORDED and (how in _RECORDING or (panel_of(channel) and not told)):
        return _recorded(channel, run)
    return Text(how)


def _recorded(missing: str, run: Run) -> Text:
    """How a run that is recorded already comes by more: which panel was off, or measured only now and then."""
    channel = missing.partition(" ")[0]
    panel = panel_of(channel)
    if not panel:
        return Text("let the run go on, and log every step and every evaluation")
    off = run.header.fact("off")
    if isinstance(off, (list, tuple)) and panel.rpartition(" ")[2] in off:
        if panel.rpartition(" ")[2] in _OF_WEIGHTS:
            return Text("{panel}, is off where FSDP1 or DeepSpeed has the weights: it is on with fully_shard (FSDP2)", {"panel": panel})
        return Text("{panel}, is off in a compiled model: record a few steps without torch.compile", {"panel": panel})
    here = run.get(channel) if "/" in channel else next(run.family(channel), None)
    if here is not None:
        return Text("Recorder(..., budget=None) measures {panel}, at every step instead of in turns", {"panel": panel})
    return NOT_HERE
