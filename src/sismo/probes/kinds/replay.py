"""``replay``: the suspect step once more, as it was and changed in one thing at a time."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

from sismo.errors import UsageError
from sismo.probes import checkpoints
from sismo.probes.case import Case
from sismo.probes.checkpoints import Checkpoint
from sismo.probes.outcomes import Replay, usual_before, usual_until
from sismo.probes.replay import replay
from sismo.records.channels import LOSS_TRAIN
from sismo.records.probing import ProbeReport
from sismo.records.types import Note

_OTHERS = 3


def run(case: Case) -> ProbeReport:
    """Replays from the run's checkpoint; its other batches and the checkpoint before that one are the comparison.

    A step that is sound from there was not spoilt by its batch or its rate. Where the run has a checkpoint from after it, the same step
    from that state tells whether the state is what went wrong in between.
    """
    if case.built.optimizer is None:
        raise UsageError("a replay needs the optimizer: build() has to return it as the third")
    case.restore()
    found = _from_here(case, _before(case), initial=case.initial, recorded=_recorded(case))
    found = replace(found, lost=case.run is not None and case.lost and case.has_batch and usual_until(case.run, case.step))
    later = case.later() if case.run is not None and case.given_checkpoint is None else None
    if found.fault is None and not found.reproduced and later is not None:
        case.load(later)
        after = _from_here(case, case.checkpoint)
        if after.reproduced:
            return _said_of(later, case, after.report())
    report = found.report()
    if found.fault is None and not found.reproduced and not case.has_batch:
        kept = {key: value for key, value in report.data.items() if key != "class"}
        report = report._replace(verdict=_other(case.step), data=kept, open=True)
    return case.remarked(report)


def _other(step: int) -> Note:
    """What a sound step says where its batch is another one than that of the suspected step."""
    return Note("replay-other", "Another batch is sound from this state: the batch of step {step} was not kept.", {"step": step})


def _said_of(later: Checkpoint, case: Case, found: ProbeReport) -> ProbeReport:
    """A result from the state after the trouble, with what was seen from the one before it."""
    numbers = {"before": case.checkpoint.step if case.checkpoint is not None else 0, "after": later.step}
    note = Note("later", "From the state of step {before} the step is sound; what follows starts from the one of step {after}.", numbers)
    return found._replace(notes=(note, *found.notes))


def _from_here(case: Case, earlier: Checkpoint | None, *, initial: bool = False, recorded: float | None = None) -> Replay:
    """The suspect step from the state that model and optimizer are in."""
    built, others = case.built, [path for at, path in case.batches() if at < case.step][-_OTHERS:]
    assert built.optimizer is not None
    if initial:
        others = [path for at, path in case.batches() if at > case.step][:_OTHERS]
    return replay(
        built.model,
        case.batch,
        built.loss_fn,
        built.optimizer,
        others=[checkpoints.batch(path) for path in others],
        earlier=earlier,
        usual=usual_before(case.run, case.step) if case.run is not None else None,
        initial=initial,
        recorded=recorded,
        autocast=case.autocast,
        loss_scale=case.loss_scale,
        clip=case.clip,
    )


def _before(case: Case) -> Checkpoint | None:
    """The finite checkpoint of the run before the one that is replayed from."""
    return next(islice(case.earlier(), 1, None), None) if case.run is not None and case.given_checkpoint is None else None


def _recorded(case: Case) -> float | None:
    """The run's own loss of the step, where state and batch are the ones that it had: then both should be the same."""
    loss = case.run.get(LOSS_TRAIN) if case.run is not None else None
    if loss is None or not (case.exact and case.has_batch) or (case.run is not None and (case.run.header.accumulation or 1) > 1):
        return None
    return loss.at(case.step)
