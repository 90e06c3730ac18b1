"""``nan``: where the first non-finite number of a step comes from."""

from __future__ import annotations

from sismo.probes.case import Case
from sismo.probes.nan_origin import nan_origin
from sismo.records.probing import ProbeReport


def run(case: Case) -> ProbeReport:
    """Takes the suspected step from the last finite checkpoint with finite checks."""
    built = case.built
    case.restore()
    found = nan_origin(
        built.model, case.batch, built.loss_fn, built.optimizer, autocast=case.autocast, loss_scale=case.loss_scale, clip=case.clip
    )
    return case.remarked(found.report())
