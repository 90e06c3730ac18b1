"""``init``: how activations and gradients grow over depth, against a fresh initialisation."""

from __future__ import annotations

from sismo.probes.case import Case
from sismo.probes.init import initialisation
from sismo.records.probing import ProbeReport


def run(case: Case) -> ProbeReport:
    """Looks at the model as ``build()`` makes it, or as the given checkpoint has it."""
    if case.given_checkpoint is not None:
        case.load()
    return initialisation(case.built.model, case.batch, case.built.loss_fn).report()
