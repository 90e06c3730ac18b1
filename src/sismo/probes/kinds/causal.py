"""``causal``: whether a later token moves an earlier logit, and whether the labels are in sight."""

from __future__ import annotations

from sismo.probes.case import Case
from sismo.probes.causality import causality
from sismo.probes.leakage import labels
from sismo.records.probing import ProbeReport
from sismo.records.types import Note


def run(case: Case) -> ProbeReport:
    """Changes the future of the batch, and looks at its labels."""
    built = case.built
    case.load()
    found = causality(built.model, case.batch, built.loss_fn).report()
    seen = labels(built.model, case.batch, built.loss_fn)
    if seen is None:
        return found
    if found.found and seen.by_place:
        verdict = Note("by-place", "Positions see later ones, and the labels are those of the same positions: no next token is asked for.")
        found = found._replace(found=False, verdict=verdict, data={"bidirectional": "yes"})
    notes = [*found.notes, Note("labels", "{share:.1%} of the labels carry loss.", {"share": seen.share})]
    if seen.in_input:
        notes.append(
            Note("labels-in-input", "The labels equal the inputs at the same place, and nobody shifts them: the answer is in sight.")
        )
    data = {**found.data, "labels": "in-input" if seen.in_input else "apart", "label_share": seen.share}
    return found._replace(found=found.found or seen.in_input, data=data, notes=tuple(notes))
