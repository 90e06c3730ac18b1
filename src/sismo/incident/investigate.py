"""The seven parts of a post-mortem, put together from a run and its diagnosis."""

from __future__ import annotations

import numpy as np

from sismo import postmortem
from sismo.incident.prescribe import prescribe, start
from sismo.incident.symptoms import symptoms
from sismo.incident.types import Gap, Incident, Prescription, Root, Verification
from sismo.incident.weighing import Bench, PanelOf, bearings, hypotheses, undecided
from sismo.incident.window import pictures
from sismo.postmortem import LIKELY, SURE, PostMortem, Text
from sismo.records.channels import LOSS_TRAIN
from sismo.records.types import Run
from sismo.signals import registry
from sismo.signals.presets import Preset
from sismo.signals.view import View
from sismo.tree.catalogue import remedies
from sismo.tree.types import Diagnosis, Finding
from sismo.tree.walk import walk


def investigate(run: Run, limits: Preset, panel_of: PanelOf) -> Incident:
    """Everything that is said about one failure. ``panel_of`` names the panel of the page that draws a channel."""
    seen = registry.observe(View.of(run, limits.values))
    diagnosis = walk(seen)
    detectors = registry.detectors()
    document = postmortem.write(run, diagnosis, detectors, limits.name)
    bench = Bench(seen, detectors, panel_of)
    first = diagnosis.first if diagnosis.healthy is False else None
    onset = first.step if first else _lost(run)
    seen_in = [observation.channel for observation in first.evidence] if first else []
    weighed = hypotheses(diagnosis, bench)
    prescription = prescribe(run, diagnosis)
    return Incident(
        document=document,
        onset=onset,
        pictures=pictures(run, onset, seen_in, panel_of) if first or onset is not None else [],
        symptoms=symptoms(run, onset),
        hypotheses=weighed,
        bearings=bearings(diagnosis, weighed, bench),
        undecided=undecided(diagnosis, bench),
        root=_root(document, diagnosis, bench, prescription),
        prescription=prescription,
        verification=_verification(run, diagnosis, prescription),
        lesson=_lesson(diagnosis),
    )


def _lost(run: Run) -> int | None:
    """The first step at which the loss is not finite."""
    loss = run.get(LOSS_TRAIN)
    lost = loss.steps[~np.isfinite(loss.values)] if loss is not None else np.zeros(0)
    return int(lost[0]) if lost.size else None


def _root(document: PostMortem, diagnosis: Diagnosis, bench: Bench, prescription: Prescription) -> Root:
    first = diagnosis.first
    if first is None or diagnosis.healthy is not False:
        missing = prescription.refused.how if prescription.refused and diagnosis.healthy is None else None
        return Root(document.verdict, [], [], Gap(Text("enough to judge by"), missing) if missing else None)
    brought = [finding.cause.id for finding in diagnosis.findings if finding.consequence_of == first.cause.id]
    rests_on = [bench.says(observation.signal) for observation in first.evidence[:3]]
    if first.twins:
        return Root(document.verdict, rests_on, brought, Gap(Text("what decides between them"), Text(first.cause.decider)))
    gap = None if first.confidence >= SURE else Gap(Text("proof"), Text(first.cause.decider or first.cause.confirm))
    return Root(_sentence(document, first), rests_on, brought, gap)


def _sentence(document: PostMortem, first: Finding) -> Text:
    numbers = {"id": first.cause.id, "unit": document.step_unit, "step": first.step, "statement": Text(first.cause.statement)}
    placed = first.step is not None
    if first.confidence >= SURE:
        return Text("{id}, {unit} {step}: {statement}" if placed else "{id}: {statement}", numbers)
    if first.confidence >= LIKELY:
        return Text("Probably {id}, {unit} {step}: {statement}" if placed else "Probably {id}: {statement}", numbers)
    return Text("Possibly {id}, {unit} {step}: {statement}" if placed else "Possibly {id}: {statement}", numbers)


def _verification(run: Run, diagnosis: Diagnosis, prescription: Prescription) -> Verification:
    first = diagnosis.first
    if diagnosis.healthy is None and prescription.refused is not None:
        return Verification(prescription.refused.how, Text("A verdict: healthy, or a cause with its evidence."), Text("one run"))
    if first is None or diagnosis.healthy is not False:
        return Verification(
            Text("Nothing: there is no change to verify."), Text("The loss goes on as it did."), Text("as long as the run lasts")
        )
    remedy = remedies()[first.cause.id]
    if prescription.refused is not None:
        at = Text("at once: one look, or one step")
        expect = Text("It tells which it is. If it is {id}: {expect}", {"id": first.cause.id, "expect": Text(remedy.expect)})
        return Verification(prescription.refused.how, expect, at)
    begin = start(run, first, remedy)
    rerun = Text("{start} Change nothing else; keep the seed and the order of the data.", {"start": begin.said}) if begin else Text(
        "Nothing has to be trained: look again after the change."
    )  # fmt: skip
    return Verification(rerun, Text(remedy.expect), _within(run, first, remedy.within))


def _within(run: Run, finding: Finding, steps: int) -> Text:
    """In steps past the onset, but never in fewer than three rows of the log: what is between rows cannot be seen."""
    if not steps:
        return Text("at once")
    if run.header.step_unit != "step":
        return Text("one epoch")
    loss = run.get(LOSS_TRAIN)
    seen = max(steps, round(3 * loss.interval)) if loss is not None and loss.interval > 1 else steps
    if finding.step is None or seen == 1:
        return Text("{steps} steps" if seen > 1 else "one step", {"steps": seen})
    return Text("{steps} steps: by step {until}", {"steps": seen, "until": finding.step + seen})


def _lesson(diagnosis: Diagnosis) -> Text:
    first = diagnosis.first
    if diagnosis.healthy is True:
        return Text("None: nothing broke.")
    if diagnosis.healthy is None or first is None:
        return Text("What is not logged cannot be judged afterwards: loss, gradient norm and learning rate of every step are the least.")
    lesson = Text(remedies()[first.cause.id].lesson)
    if first.twins or first.confidence < LIKELY:
        return Text("What was logged could not decide it. {lesson}", {"lesson": lesson})
    return lesson
