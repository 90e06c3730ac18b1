"""What to do about a run: the first action of its cause as something that runs, or the reason why there is nothing to run yet."""

from __future__ import annotations

from collections.abc import Sequence

from sismo.incident.batches import fingerprints, ids, kept
from sismo.incident.checkpoints import HEALTHY, last_healthy
from sismo.incident.settings import proposed
from sismo.incident.subject import subject_of
from sismo.incident.types import Gap, Prescription, Skip, Start
from sismo.postmortem import LIKELY, Text, action_of
from sismo.records.channels import LOSS_TRAIN
from sismo.records.types import Run
from sismo.tree.catalogue import remedies
from sismo.tree.proof import OF_A_STEP, decider, denied_by, proved_by
from sismo.tree.remedy import Kind, Remedy, Restart
from sismo.tree.types import Diagnosis, Finding

_FILE = "BATCH.pt"


def prescribe(run: Run, diagnosis: Diagnosis) -> Prescription:
    """The prescription for a run. It is refused where the verdict is not sure enough to act on."""
    refused = _refused(run, diagnosis)
    first = diagnosis.first
    if refused is not None or first is None:
        return Prescription("", "none", None, refused, None)
    remedy = remedies()[first.cause.id]
    kind, action, probe = _what(run, first, remedy)
    return Prescription(
        cause=first.cause.id,
        kind=kind.value,
        confidence=first.confidence,
        refused=None,
        action=action,
        start=start(run, first, remedy),
        skip=_skip(run, first.step, remedy) if remedy.skip and first.step is not None and _came_later(run, first.step) else None,
        changes=[change for change in (proposed(one, run) for one in remedy.changes) if change.old is None or change.new is not None],
        code=remedy.code,
        probe=probe,
        needs=_needs(run, first) if _FILE in probe else None,
    )


def _what(run: Run, first: Finding, remedy: Remedy) -> tuple[Kind, Text, str]:
    """What is asked for, the first action, and the experiment before it. What an experiment has proved is not to be looked at once more."""
    action = action_of(first, run)
    if not proved_by(first):
        return remedy.kind, action, probe_command(run, first, remedy)
    if remedy.kind is not Kind.PROBE:
        return remedy.kind, action, ""
    return Kind.CODE if remedy.code else Kind.RECIPE, action, ""


def _refused(run: Run, diagnosis: Diagnosis) -> Gap | None:
    first = diagnosis.first
    if diagnosis.healthy is True:
        note = subject_of(diagnosis)
        how = Text("Let the run go on.")
        if note is not None:
            how = Text("Let the run go on. If {id} matters here: {action}", {"id": note.cause.id, "action": action_of(note, run)})
        return Gap(Text("Nothing at warning or worse was found: there is nothing that has to change."), how)
    if diagnosis.healthy is None or first is None:
        return Gap(
            Text("There is no verdict, so there is nothing to prescribe."),
            Text("Log the training loss, the gradient norm before clipping and the learning rate at every step, and diagnose again."),
        )
    if first.twins:
        pair = " / ".join([first.cause.id, *first.twins])
        return Gap(Text("It is not decided between {pair}: a change for the wrong one costs a run.", {"pair": pair}), Text(decider(first)))
    if first.confidence < LIKELY:
        return Gap(
            Text("{id} is only possible (confidence {confidence:.2f}): confirm it first.",
                 {"id": first.cause.id, "confidence": first.confidence}),
            Text(first.cause.confirm),
        )  # fmt: skip
    return None


def start(run: Run, finding: Finding, remedy: Remedy) -> Start | None:
    """From where the run goes on; None where nothing has to be trained."""
    onset = finding.step
    if remedy.restart is Restart.NOT:
        return None
    if remedy.restart is Restart.NEWEST:
        return Start(_last(run), "", Text("Go on from the newest checkpoint: nothing is lost."))
    if remedy.restart is Restart.AFRESH or onset is None:
        return Start(None, "", Text("Start again from step 0: what the fault has touched since then is of no use."))
    return _taken(run, onset) if remedy.restart is Restart.TAKE else _before(run, onset)


def _taken(run: Run, onset: int) -> Start:
    """The checkpoint that is the result of the run."""
    found = last_healthy(run, onset, calm=0)
    numbers = {"unit": run.header.step_unit, "onset": onset, "step": found.step if found else None, "path": found.path if found else ""}
    if found is None:
        return Start(onset, "", Text("Take the checkpoint nearest to {unit} {onset}; the log names none.", numbers))
    if found.path:
        return Start(found.step, found.path, Text("Take {path}, the last one up to {unit} {onset}.", numbers))
    return Start(found.step, "", Text("Take the checkpoint of {unit} {step}, the last one up to {unit} {onset}.", numbers))


def _before(run: Run, onset: int) -> Start:
    """The checkpoint to go back to."""
    calm = HEALTHY.get(run.header.step_unit, 1)
    found = last_healthy(run, onset, calm)
    numbers = {"unit": run.header.step_unit, "onset": onset, "calm": calm, "before": onset - calm}
    if found is None and onset <= calm:
        return Start(None, "", Text("Start again from step 0: there is nothing before {unit} {onset} to go back to.", numbers))
    if found is None:
        said = Text(
            "Restart from a checkpoint of yours that was written before {unit} {before}; the log names none. "
            "Without one, start again from step 0.",
            numbers,
        )
        return Start(None, "", said)
    numbers |= {"step": found.step, "path": found.path}
    if found.path:
        said = Text("Restart from {path} ({unit} {step}), the last one that {calm} healthy {unit}{calm:|s} followed.", numbers)
    else:
        said = Text(
            "Restart from the checkpoint of {unit} {step}, the last one that {calm} healthy {unit}{calm:|s} followed, if it was kept.",
            numbers,
        )
    return Start(found.step, found.path, said)


def _came_later(run: Run, onset: int) -> bool:
    """Whether something began in the run: what is there from the first row on is not the fault of one batch."""
    loss = run.get(LOSS_TRAIN)
    return loss is not None and len(loss) > 0 and onset > int(loss.steps[0])


def _skip(run: Run, onset: int, remedy: Remedy) -> Skip:
    """The batches of the row in which it began: all the steps since the row before."""
    loss = run.get(LOSS_TRAIN)
    interval = round(loss.interval) if loss is not None else 1
    first = max(0, onset - max(interval, 1) + 1)
    prints, named = fingerprints(run, first, onset), ids(run, first, onset)
    numbers = {"first": first, "last": onset, "marks": _marks(named, prints)}
    if remedy.restart is Restart.NEWEST and first == onset:
        said = Text("When the data comes round again, leave out the batch of step {last}{marks}.", numbers)
    elif first == onset:
        said = Text("Leave out the batch of step {last}{marks}, or mend it.", numbers)
    elif remedy.restart is Restart.NEWEST:
        said = Text("When the data comes round again, leave out the batches of steps {first} to {last}{marks}.", numbers)
    else:
        said = Text("Leave out the batches of steps {first} to {last}{marks}, or mend them.", numbers)
    return Skip(said, first, onset, prints, named)


def _marks(named: Sequence[str], prints: Sequence[str]) -> Text | str:
    """What the batches to leave out are known by, where that was recorded."""
    if named:
        return Text(" (ids {ids})", {"ids": ", ".join(named[:8])})
    return Text(" (fingerprint {print})", {"print": ", ".join(prints[:8])}) if prints else ""


def _last(run: Run) -> int | None:
    return max((event.step for event in run.events_of("checkpoint")), default=None)


def probe_command(run: Run, finding: Finding, remedy: Remedy) -> str:
    """The experiment that settles a cause, as it is typed; empty where there is none, or it has looked and found nothing."""
    if not remedy.probe or remedy.kind is Kind.NOTHING or denied_by(finding):
        return ""
    recorded = f" --run {run.path}" if run.header.source == "sismo-run" else ""
    step = f" --step {finding.step}" if finding.step is not None and remedy.probe in OF_A_STEP else ""
    batch = f" --batch {_FILE}" if step and not kept(run, finding.step or 0) else ""
    return f"sismo probe {remedy.probe} --entry YOUR.MODULE:build{recorded}{step}{batch}"


def _needs(run: Run, finding: Finding) -> Text:
    """How the batch of a step is had that was not kept, and what can be looked at without it."""
    numbers = {"unit": run.header.step_unit, "step": finding.step, "file": _FILE, "confirm": Text(finding.cause.confirm)}
    return Text(
        "The batch of {unit} {step} was not kept: let the loader come to it again (same seed, same order) and torch.save(batch, '{file}'), "
        "or record the next run with rec.batches(loader), which keeps it. What can be looked at without it: {confirm}",
        numbers,
    )
