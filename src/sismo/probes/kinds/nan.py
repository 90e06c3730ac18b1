"""``nan``: where the first non-finite number of a step comes from."""

from __future__ import annotations

from sismo.probes.case import Case
from sismo.probes.nan_origin import nan_origin
from sismo.records.probing import ProbeReport
from sismo.records.types import Note


def run(case: Case) -> ProbeReport:
    """Takes the suspected step from the last finite checkpoint with finite checks."""
    built = case.built
    case.restore()
    found = nan_origin(
        built.model, case.batch, built.loss_fn, built.optimizer, autocast=case.autocast, loss_scale=case.loss_scale, clip=case.clip
    )
    report = case.remarked(found.report())
    if not case.has_batch:
        report = report._replace(data={key: value for key, value in report.data.items() if key != "inputs"})
    if found.found or not case.lost:
        return report
    # The state is an older one: that its weights and operations are finite says nothing of those of the step.
    kept = {key: value for key, value in report.data.items() if key == "inputs"}
    note = Note(
        "not-again",
        "Every number is finite when the step is tried here, and in the run it was lost. If the code was changed since, the change cures "
        "this step; if not, the trouble came in between, or from the machine.",
    )
    return report._replace(verdict=note, data=kept, open=True)
