"""``causal``: whether a later token moves an earlier logit, and whether the labels are in sight."""

from __future__ import annotations

from dataclasses import replace

from sismo.probes.case import Case
from sismo.probes.causality import causality
from sismo.probes.leakage import labels
from sismo.records.probing import ProbeReport
from sismo.records.types import Note


def run(case: Case) -> ProbeReport:
    """Changes the future of the batch, and looks at its labels."""
    built = case.built
    case.load()
    order = causality(built.model, case.batch, built.loss_fn)
    seen = labels(built.model, case.batch, built.loss_fn)
    if order.asked is None and seen is not None:
        order = replace(order, asked=seen.next_token)
    found = order.report()
    if seen is None:
        return found
    notes = [*found.notes, Note("labels", "{share:.1%} of the labels carry loss.", {"share": seen.share})]
    if seen.in_input:
        notes.append(
            Note("labels-in-input", "The labels equal the inputs at the same place, and nobody shifts them: the answer is in sight.")
        )
    data = {**found.data, "labels": "in-input" if seen.in_input else "apart", "label_share": seen.share}
    return found._replace(found=found.found or seen.in_input, data=data, notes=tuple(notes))
