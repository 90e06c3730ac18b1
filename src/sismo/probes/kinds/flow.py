"""``flow``: which weights get no gradient, which no optimizer holds, which a step leaves as they are."""

from __future__ import annotations

from sismo.probes.case import Case
from sismo.probes.flow import flow
from sismo.records.probing import ProbeReport


def run(case: Case) -> ProbeReport:
    """Takes one step."""
    built = case.built
    case.load()
    return flow(built.model, case.batch, built.loss_fn, built.optimizer, built.loop).report()
