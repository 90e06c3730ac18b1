"""Parts 4, 6 and 7: the root cause in a sentence, how a change is verified, and the lesson."""

from __future__ import annotations

from sismo.incident.prescribe import probe_command, start
from sismo.incident.types import Gap, Prescription, Root, Verification
from sismo.incident.weighing import Bench
from sismo.postmortem import LIKELY, SURE, PostMortem, Text
from sismo.records.channels import LOSS_TRAIN
from sismo.records.types import Run
from sismo.signals.types import Observation
from sismo.tree.catalogue import remedies
from sismo.tree.proof import decider, sees_the_change
from sismo.tree.remedy import Remedy
from sismo.tree.types import Diagnosis, Finding

_DIAGNOSE = "sismo diagnose NEW_RUN"


def root(document: PostMortem, diagnosis: Diagnosis, subject: Finding | None, bench: Bench, prescription: Prescription) -> Root:
    """The root cause, or why there is none."""
    if subject is None:
        missing = prescription.refused.how if prescription.refused and document.healthy is None else None
        return Root(document.verdict, [], [], Gap(Text("enough to judge by"), missing) if missing else None)
    brought = [finding.cause.id for finding in diagnosis.findings if finding.consequence_of == subject.cause.id]
    proved = [observation for observation in subject.evidence if bench.probe(observation.signal)]
    seen = [observation for observation in subject.evidence if observation not in proved]
    rests_on = [_rests(observation, bench) for observation in [*proved, *seen][:3]]
    if subject.twins:
        return Root(document.verdict, rests_on, brought, Gap(Text("what decides between them"), Text(decider(subject))))
    gap = None if subject.confidence >= SURE else Gap(Text("proof"), Text(decider(subject)))
    return Root(_sentence(document, subject), rests_on, brought, gap)


def _rests(observation: Observation, bench: Bench) -> Text:
    """What was seen, and the experiment that proved it where there was one."""
    said, probe = bench.says(observation.signal), bench.probe(observation.signal)
    return Text("proved by {command}: {said}", {"command": f"sismo probe {probe}", "said": said}) if probe else said


def _sentence(document: PostMortem, subject: Finding) -> Text:
    numbers = {"id": subject.cause.id, "unit": document.step_unit, "step": subject.step, "statement": Text(subject.cause.statement)}
    placed = subject.step is not None
    if document.healthy:
        return Text(
            "Nothing broke. Worth knowing: {id}, {unit} {step}: {statement}"
            if placed
            else "Nothing broke. Worth knowing: {id}: {statement}",
            numbers,
        )
    if subject.confidence >= SURE:
        return Text("{id}, {unit} {step}: {statement}" if placed else "{id}: {statement}", numbers)
    if subject.confidence >= LIKELY:
        return Text("Probably {id}, {unit} {step}: {statement}" if placed else "Probably {id}: {statement}", numbers)
    return Text("Possibly {id}, {unit} {step}: {statement}" if placed else "Possibly {id}: {statement}", numbers)


def verification(run: Run, healthy: bool | None, subject: Finding | None, prescription: Prescription) -> Verification:
    """What to run again after the change, or to find out what to change."""
    refused = prescription.refused
    if subject is None and healthy is None and refused is not None:
        return Verification(refused.how, Text("A verdict: healthy, or a cause with its evidence."), Text("one run"), Text(_DIAGNOSE))
    if subject is None:
        return Verification(
            Text("Nothing: there is no change to verify."), Text("The loss goes on as it did."), Text("as long as the run lasts"),
            Text("sismo watch {path}", {"path": run.path}),
        )  # fmt: skip
    remedy = remedies()[subject.cause.id]
    if refused is not None and not healthy:
        expect = Text("It tells which it is. If it is {id}: {expect}", {"id": subject.cause.id, "expect": Text(remedy.expect)})
        return Verification(refused.how, expect, Text("at once: one look, or one step"), _decides(run, subject, remedy))
    begin = start(run, subject, remedy)
    if healthy:
        rerun = Text("Nothing has to be run again; a new run shows whether the change did what it should.")
    elif begin is None:
        rerun = Text("Nothing has to be trained: look again after the change.")
    else:
        rerun = Text("{start} Change nothing else; keep the seed and the order of the data.", {"start": begin.said})
    return Verification(rerun, Text(remedy.expect), _within(run, subject, remedy.within), _check(run, subject, remedy))


def _decides(run: Run, subject: Finding, remedy: Remedy) -> Text:
    """The command that finds out what it is."""
    command = probe_command(run, subject, remedy)
    return (
        Text("{command}: what it finds goes into the run, and sismo diagnose weighs it.", {"command": command})
        if command
        else Text(_DIAGNOSE)
    )


def _check(run: Run, subject: Finding, remedy: Remedy) -> Text:
    """The command that shows whether it worked: an experiment with the changed code where there is one, else the next verdict."""
    command = probe_command(run, subject, remedy)
    if command and sees_the_change(remedy):
        return Text("{command} ends with 0: it finds nothing with the changed code.", {"command": command})
    return Text("{command} does not name {id}.", {"command": _DIAGNOSE, "id": subject.cause.id})


def _within(run: Run, subject: Finding, steps: int) -> Text:
    """In steps past the onset, but never in fewer than three rows of the log: what is between rows cannot be seen."""
    if not steps:
        return Text("at once")
    if run.header.step_unit != "step":
        return Text("one epoch")
    loss = run.get(LOSS_TRAIN)
    seen = max(steps, round(3 * loss.interval)) if loss is not None and loss.interval > 1 else steps
    if subject.step is None or seen == 1:
        return Text("{steps} steps" if seen > 1 else "one step", {"steps": seen})
    return Text("{steps} steps: by step {until}", {"steps": seen, "until": subject.step + seen})


def lesson(healthy: bool | None, subject: Finding | None) -> Text:
    """What keeps it from happening again."""
    if subject is None and healthy:
        return Text("None: nothing broke.")
    if subject is None:
        return Text("What is not logged cannot be judged afterwards: loss, gradient norm and learning rate of every step are the least.")
    learnt = Text(remedies()[subject.cause.id].lesson)
    if subject.twins or subject.confidence < LIKELY:
        return Text("What was logged could not decide it. {lesson}", {"lesson": learnt})
    return learnt
